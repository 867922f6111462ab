// A workload on pictures: what the search for features does with memory.
#include "workload/feed.hh"

#include <algorithm>

namespace gnomon::workload {

namespace {

constexpr uint64_t side = 16;  // of the patch that describes a feature, in pixels

struct Pyramid {
    uint64_t width, height, radius, scales, features, touch, seed;
    uint64_t image, rows, blurred;
    uint32_t threads;

    uint64_t pixels() const { return width * height; }
    // The picture that is blurred to scale `scale`: the one before it.
    uint64_t source(uint64_t scale) const {
        return scale == 0 ? image : blurred + 4 * pixels() * (scale - 1);
    }
    uint64_t result(uint64_t scale) const { return blurred + 4 * pixels() * scale; }
};

// One pixel of a picture, and what surrounds it, at most to the border.
uint64_t clamped(uint64_t at, uint64_t tap, uint64_t radius, uint64_t count) {
    const uint64_t beyond = at + tap;
    return std::min(beyond < radius ? 0 : beyond - radius, count - 1);
}

// Weighs the pixels beside or above each other; those above may be of another thread's part.
Steps blur(Out& out, Pyramid p, uint64_t from, uint64_t to, uint64_t first, uint64_t last,
           bool down, uint32_t site) {
    const uint64_t taps = 2 * p.radius + 1;
    for (uint64_t y = first; y < last; ++y) {
        for (uint64_t x = 0; x < p.width; ++x) {
            for (uint64_t tap = 0; tap < taps; ++tap) {
                const uint64_t column = down ? x : clamped(x, tap, p.radius, p.width);
                const uint64_t row = down ? clamped(y, tap, p.radius, p.height) : y;
                out.load(from + 4 * (row * p.width + column), 4, site);
            }
            out.count(Code::fp_multiply, taps, site);
            out.count(Code::fp_add, taps, site);
            out.store(to + 4 * (y * p.width + x), 4, site);
            out.turn(x + 1 < p.width, site);
            co_await out.pause();
        }
        out.turn(y + 1 < last, site);
    }
}

// Each thread touches its rows first and then blurs them, scale after scale; at last it looks at
// patches around features of its own rows.
Steps pyramid_thread(Out& out, uint32_t thread, Pyramid p) {
    enum { touching = 1, beside, above, describing };
    const uint64_t first = share(p.height, p.threads, thread);
    const uint64_t last = share(p.height, p.threads, thread + 1);
    const uint64_t begin = 4 * first * p.width, end = 4 * last * p.width;
    for (uint64_t at = begin; at < end; at += p.touch) {
        out.store(p.image + at, 4, touching);
        out.turn(at + p.touch < end, touching);
        co_await out.pause();
    }
    out.barrier(p.threads);
    for (uint64_t scale = 0; scale < p.scales; ++scale) {
        co_await out.call(blur(out, p, p.source(scale), p.rows, first, last, false, beside));
        out.barrier(p.threads);
        co_await out.call(blur(out, p, p.rows, p.result(scale), first, last, true, above));
        out.barrier(p.threads);
    }
    Random random(p.seed, thread + 1);
    for (uint64_t i = 0; i < p.features && first < last; ++i) {
        const uint64_t base = p.result(random.below(p.scales));
        const uint64_t left = random.below(p.width), top = first + random.below(last - first);
        for (uint64_t pixel = 0; pixel < side * side; ++pixel) {
            const uint64_t x = std::min(left + pixel % side, p.width - 1);
            const uint64_t y = std::min(top + pixel / side, last - 1);
            out.load(base + 4 * (y * p.width + x), 4, describing, pixel == 0 ? waits : 0);
            out.count(Code::fp_add, 2, describing);
            out.count(Code::fp_multiply, 2, describing);
            out.turn(pixel + 1 < side * side, describing);
        }
        co_await out.pause();
        out.turn(i + 1 < p.features, describing);
    }
}

}  // namespace

Feeds pyramid(const Settings& s) {
    return feeds_of(s.threads(), pyramid_thread,
                    Pyramid{s["width"], s["size"], s["radius"], s["scales"], s["features"],
                            s["touch"], s["seed"], s.bases[0], s.bases[1], s.bases[2],
                            s.threads()});
}

}  // namespace gnomon::workload
