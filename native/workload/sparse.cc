// Sparse structures: a matrix times a vector, and breadth-first search.
#include <algorithm>
#include <cmath>

#include "workload/feed.hh"

namespace gnomon::workload {

namespace {

enum class Kernel : uint64_t { plain, block, block_int };
enum class Balance : uint64_t { rows, nonzeros, dynamic };

struct Run {
    uint64_t from, to;  // rows
};

struct Matrix {
    std::vector<uint64_t> starts;
    std::vector<uint32_t> columns;
    std::vector<std::vector<Run>> runs;  // of each thread
};

struct Spmv {
    uint64_t rows, iterations;
    uint32_t threads;
    Kernel kernel;
    bool dynamic, init;
    uint64_t starts, columns, values, x, y, next;
    std::shared_ptr<const Matrix> matrix;
};

// Row lengths follow a Pareto distribution whose mean does not depend on the skew.
std::vector<uint64_t> row_lengths(const Settings& s) {
    const double mean = static_cast<double>(s["row_length"]), skew = s.real.at("skew");
    Random random(s["seed"], 0);
    std::vector<uint64_t> lengths(s["size"]);
    for (uint64_t& length : lengths) {
        const double wanted = mean * (1.0 - skew) * std::pow(1.0 - random.unit(), -skew);
        const double longest = static_cast<double>(s["size"]);
        length = static_cast<uint64_t>(std::max(1.0, std::min(longest, std::floor(wanted + 0.5))));
    }
    if (s["arrangement"] == 1) std::sort(lengths.begin(), lengths.end(), std::greater<>());
    return lengths;
}

std::vector<uint32_t> column_numbers(const Settings& s, const std::vector<uint64_t>& starts) {
    const uint64_t rows = s["size"];
    const uint64_t band = s["band"] == 0 ? rows : std::min(rows, s["band"]);
    Random random(s["seed"], 1);
    std::vector<uint32_t> columns;
    columns.reserve(starts.back());
    for (uint64_t row = 0; row < rows; ++row) {
        const uint64_t left = std::min(row > band / 2 ? row - band / 2 : 0, rows - band);
        for (uint64_t k = starts[row]; k < starts[row + 1]; ++k)
            columns.push_back(static_cast<uint32_t>(left + random.below(band)));
    }
    return columns;
}

std::vector<std::vector<Run>> deal(const std::vector<uint64_t>& starts, uint64_t threads,
                                   Balance balance, uint64_t chunk) {
    const uint64_t rows = starts.size() - 1;
    std::vector<std::vector<Run>> runs(threads);
    if (balance == Balance::dynamic) {
        // Whoever has done least work takes the next chunk.
        std::vector<uint64_t> done(threads);
        for (uint64_t row = 0; row < rows; row += chunk) {
            const uint64_t thread = std::min_element(done.begin(), done.end()) - done.begin();
            const uint64_t to = std::min(rows, row + chunk);
            runs[thread].push_back(Run{row, to});
            done[thread] += starts[to] - starts[row];
        }
        return runs;
    }
    uint64_t from = 0;
    for (uint64_t thread = 0; thread < threads; ++thread) {
        uint64_t to = share(rows, threads, thread + 1);
        if (balance == Balance::nonzeros)
            to = std::lower_bound(starts.begin(), starts.end(),
                                  share(starts.back(), threads, thread + 1)) -
                 starts.begin();
        if (thread + 1 == threads) to = rows;
        if (from < to) runs[thread].push_back(Run{from, to});
        from = std::max(from, to);
    }
    return runs;
}

enum { spmv_init = 1, row_loop, inner_loop, take_chunk };

Steps fill_rows(Out& out, Spmv p, Run run) {
    const auto& starts = p.matrix->starts;
    const Array arrays[] = {{p.starts, run.from, run.to + 1, 8},
                            {p.columns, starts[run.from], starts[run.to], 4},
                            {p.values, starts[run.from], starts[run.to], 8},
                            {p.x, run.from, run.to, 8},
                            {p.y, run.from, run.to, 8}};
    for (const Array& array : arrays) co_await out.call(fill(out, array, spmv_init));
}

Steps multiply_rows(Out& out, Spmv p, Run run) {
    const Matrix& matrix = *p.matrix;
    const bool integers = p.kernel == Kernel::block_int;
    const Code product = integers ? Code::multiply : Code::fp_multiply;
    const Code sum = integers ? Code::integer : Code::fp_add;
    out.load(p.starts + 8 * run.from, 8, row_loop);
    for (uint64_t row = run.from; row < run.to; ++row) {
        out.load(p.starts + 8 * (row + 1), 8, row_loop, waits);
        const uint64_t end = matrix.starts[row + 1];
        for (uint64_t k = matrix.starts[row]; k < end; ++k) {
            out.load(p.columns + 4 * k, 4, inner_loop, waits);
            out.load(p.values + 8 * k, 8, inner_loop);
            out.load(p.x + 8 * uint64_t{matrix.columns[k]}, 8, inner_loop);
            out.count(product, 1, inner_loop);
            out.count(sum, 1, inner_loop);
            out.turn(k + 1 < end, inner_loop);
            co_await out.pause();
        }
        out.store(p.y + 8 * row, 8, row_loop);
        out.turn(row + 1 < run.to, row_loop, 2);
    }
}

Steps spmv_thread(Out& out, uint32_t thread, Spmv p) {
    const std::vector<Run>& runs = p.matrix->runs[thread];
    if (p.init) {
        if (p.kernel != Kernel::plain) {
            for (const Run& run : runs) co_await out.call(fill_rows(out, p, run));
        } else if (thread == 0) {
            co_await out.call(fill_rows(out, p, Run{0, p.rows}));
        }
        out.barrier(p.threads);
    }
    for (uint64_t round = 0; round < p.iterations; ++round) {
        for (const Run& run : runs) {
            if (p.dynamic) {
                out.reference(Code::atomic, p.next, 8, take_chunk, waits);
                out.turn(true, take_chunk, 2);
            }
            co_await out.call(multiply_rows(out, p, run));
        }
        if (p.dynamic) {  // there is none left
            out.reference(Code::atomic, p.next, 8, take_chunk, waits);
            out.turn(false, take_chunk, 2);
        }
        out.barrier(p.threads);
    }
}

struct Graph {
    std::vector<uint64_t> starts;
    std::vector<uint32_t> edges;
};

// Edges between vertices drawn at random, or by quadrants as in R-MAT.
Graph graph_of(uint64_t vertices, uint64_t degree, bool rmat, Random random) {
    const uint64_t count = vertices * degree;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    pairs.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t from = 0, to = 0;
        if (!rmat) {
            from = random.below(vertices);
            to = random.below(vertices);
        }
        for (uint64_t bit = vertices / 2; rmat && bit > 0; bit /= 2) {
            const double u = random.unit();
            if (u >= 0.76) from += bit;
            if ((u >= 0.57 && u < 0.76) || u >= 0.95) to += bit;
        }
        pairs.emplace_back(static_cast<uint32_t>(from), static_cast<uint32_t>(to));
    }
    Graph graph{std::vector<uint64_t>(vertices + 1), std::vector<uint32_t>(count)};
    for (const auto& [from, to] : pairs) ++graph.starts[from + 1];
    for (uint64_t v = 0; v < vertices; ++v) graph.starts[v + 1] += graph.starts[v];
    std::vector<uint64_t> at(graph.starts.begin(), graph.starts.end() - 1);
    for (const auto& [from, to] : pairs) graph.edges[at[from]++] = to;
    return graph;
}

constexpr uint32_t unreached = ~uint32_t{0};

// Which level a vertex is on, and which thread reaches it first: of several the lowest.
struct Search {
    Graph graph;
    std::vector<std::vector<uint32_t>> frontiers;
    std::vector<std::vector<uint64_t>> offsets;  // of a level: where each thread's finds begin
    std::vector<uint32_t> level;
    std::vector<uint32_t> finder;
};

void search(Search& plan, uint32_t threads, uint32_t source) {
    plan.level.assign(plan.graph.starts.size() - 1, unreached);
    plan.finder = plan.level;
    plan.level[source] = 0;
    plan.frontiers = {{source}};
    while (!plan.frontiers.back().empty()) {
        const std::vector<uint32_t>& frontier = plan.frontiers.back();
        const auto depth = static_cast<uint32_t>(plan.frontiers.size());
        std::vector<uint32_t> next;
        std::vector<uint64_t> offsets;
        for (uint32_t thread = 0; thread < threads; ++thread) {
            offsets.push_back(next.size());
            for (uint64_t i = share(frontier.size(), threads, thread);
                 i < share(frontier.size(), threads, thread + 1); ++i) {
                const uint32_t vertex = frontier[i];
                const uint64_t end = plan.graph.starts[vertex + 1];
                for (uint64_t k = plan.graph.starts[vertex]; k < end; ++k) {
                    const uint32_t found = plan.graph.edges[k];
                    if (plan.level[found] != unreached) continue;
                    plan.level[found] = depth;
                    plan.finder[found] = thread;
                    next.push_back(found);
                }
            }
        }
        plan.offsets.push_back(std::move(offsets));
        plan.frontiers.push_back(std::move(next));
    }
    plan.frontiers.pop_back();
}

struct Bfs {
    uint64_t vertices;
    uint32_t threads, source;
    uint64_t starts, edges, parents, frontiers[2], filled;
    std::shared_ptr<const Search> plan;
};

enum { bfs_init = 1, take_vertex, look_at_edge, claim };

Steps visit(Out& out, uint32_t thread, Bfs p, uint64_t level, std::vector<bool>& seen) {
    const Search& plan = *p.plan;
    const std::vector<uint32_t>& frontier = plan.frontiers[level];
    const uint64_t to = share(frontier.size(), p.threads, thread + 1);
    uint64_t next = plan.offsets[level][thread];
    for (uint64_t i = share(frontier.size(), p.threads, thread); i < to; ++i) {
        const uint64_t vertex = frontier[i];
        out.load(p.frontiers[level % 2] + 4 * i, 4, take_vertex, waits);
        out.load(p.starts + 8 * vertex, 8, take_vertex);
        out.load(p.starts + 8 * (vertex + 1), 8, take_vertex, waits);
        const uint64_t end = plan.graph.starts[vertex + 1];
        for (uint64_t k = plan.graph.starts[vertex]; k < end; ++k) {
            const uint64_t found = plan.graph.edges[k];
            out.load(p.edges + 4 * k, 4, look_at_edge, waits);
            out.load(p.parents + 4 * found, 4, look_at_edge, waits);
            const bool fresh = plan.level[found] == level + 1 && !seen[found];
            out.branch(fresh, look_at_edge);
            if (fresh) {
                seen[found] = true;
                const bool won = plan.finder[found] == thread;
                out.reference(Code::atomic, p.parents + 4 * found, 4, claim, waits);
                out.branch(won, claim);
                if (won) {
                    out.reference(Code::atomic, p.filled, 8, claim, waits);
                    out.store(p.frontiers[1 - level % 2] + 4 * next++, 4, claim);
                }
            }
            out.turn(k + 1 < end, look_at_edge);
            co_await out.pause();
        }
        out.turn(i + 1 < to, take_vertex);
    }
}

Steps bfs_thread(Out& out, uint32_t thread, Bfs p) {
    const std::vector<uint64_t> arrays{p.parents};
    co_await out.call(
        prepare(out, Init::parallel, thread, p.threads, arrays, p.vertices, 4, bfs_init));
    if (thread == 0) {
        out.store(p.parents + 4 * uint64_t{p.source}, 4, bfs_init);
        out.store(p.frontiers[0], 4, bfs_init);
    }
    out.barrier(p.threads);
    std::vector<bool> seen(p.vertices);
    for (uint64_t level = 0; level < p.plan->frontiers.size(); ++level) {
        co_await out.call(visit(out, thread, p, level, seen));
        out.barrier(p.threads);
    }
}

}  // namespace

Feeds spmv(const Settings& s) {
    auto matrix = std::make_shared<Matrix>();
    matrix->starts.push_back(0);
    for (const uint64_t length : row_lengths(s))
        matrix->starts.push_back(matrix->starts.back() + length);
    matrix->columns = column_numbers(s, matrix->starts);
    const Balance balance{s["balance"]};
    matrix->runs = deal(matrix->starts, s.threads(), balance, s["chunk"]);
    return feeds_of(s.threads(), spmv_thread,
                    Spmv{s["size"], s["iterations"], s.threads(), Kernel{s["kernel"]},
                         balance == Balance::dynamic, s["init"] != 0, s.bases[0], s.bases[1],
                         s.bases[2], s.bases[3], s.bases[4], s.bases[5], matrix});
}

uint64_t spmv_nonzeros(const Settings& s) {
    uint64_t sum = 0;
    for (const uint64_t length : row_lengths(s)) sum += length;
    return sum;
}

Feeds bfs(const Settings& s) {
    auto plan = std::make_shared<Search>();
    plan->graph = graph_of(s["size"], s["degree"], s["graph"] == 0, Random(s["seed"], 0));
    const auto source = static_cast<uint32_t>(s["source"]);
    search(*plan, s.threads(), source);
    return feeds_of(s.threads(), bfs_thread,
                    Bfs{s["size"], s.threads(), source, s.bases[0], s.bases[1], s.bases[2],
                        {s.bases[3], s.bases[4]}, s.bases[5], plan});
}

}  // namespace gnomon::workload
