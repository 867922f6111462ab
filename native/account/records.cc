// What the recorder does with the kernel's records, and with stacks.
#include <algorithm>
#include <cstring>

#include "account/recorder.hh"
#include "perf/event.hh"

namespace gnomon::account {

namespace {

constexpr int64_t no_clock = 2;  // sources from here on are no clocks: see rings.cc
#if defined(__x86_64__)
constexpr bool walks_stacks = true;
#else
constexpr bool walks_stacks = false;
#endif
constexpr int64_t soon_after_exec = 20'000'000;  // ns
constexpr uint32_t nobody = 0xffffffff;  // of a thread that has ended
constexpr uint64_t first_marker = 0xfffffffffffff000;  // addresses that are none, in a call chain

}  // namespace

void Recorder::drain() {
    const auto now = static_cast<int64_t>(monotonic_ns());
    if (rings_) {
        rings_->drain(order_);
        const auto has_stack = [this](uint64_t id) {
            const int source = rings_->source(id);
            return source == 0 || source == 1;
        };
        Record record;
        order_.take(now, [&](int64_t, Bytes bytes) {
            if (parse_record(bytes, rings_->layout(), has_stack, record)) handle(record);
        });
    }
    log_.settle(now);
}

void Recorder::handle(const Record& record) {
    if (options_.root == 0 && static_cast<int>(record.pid) == own_pid_) return;
    switch (static_cast<Type>(record.type)) {
        case Type::switched:
        case Type::switched_on_cpu: handle_switch(record); break;
        case Type::fork: handle_fork(record); break;
        case Type::exit: handle_exit(record); break;
        case Type::comm: handle_comm(record); break;
        case Type::map:
            name_program(record);
            people_.map(static_cast<int>(record.pid),
                        {record.start, record.length, record.offset, record.inode, std::string(record.text)});
            break;
        case Type::lost:
        case Type::lost_samples:
            lost_ += record.lost;
            log_.add(Moment{record.time, Kind::lost, 0, static_cast<uint16_t>(record.cpu), 0, 0, -1,
                            static_cast<int64_t>(record.lost), 0});
            break;
        case Type::sample:
            if (const int source = rings_->source(record.id); source >= 0) handle_sample(record, source);
            break;
    }
}

void Recorder::handle_switch(const Record& record) {
    if (record.pid == 0 || record.pid == nobody) return;  // an idle CPU
    const auto pid = static_cast<int>(record.pid), tid = static_cast<int>(record.tid);
    const auto cpu = static_cast<uint16_t>(record.cpu);
    if (options_.root == 0 && !people_.find(tid)) introduce(people_, log_, pid, tid, 0, true, record.time);
    Thread& thread = people_.thread(pid, tid);
    Kind kind = Kind::in;
    thread.state = State::on;
    if (record.out()) {
        ++switched_[record.cpu];
        kind = record.preempted() ? Kind::preempted : Kind::out;
        thread.state = record.preempted() ? State::runnable : State::waiting;
    }
    note_miss(thread);
    thread.ran = true;
    thread.looked = false;
    thread.last = record.time;
    log_.add(Moment{record.time, kind, 0, cpu, pid, tid, -1, 0, 0});
}

void Recorder::handle_fork(const Record& record) {
    const auto pid = static_cast<int>(record.pid), tid = static_cast<int>(record.tid);
    people_.forget(tid);  // the number may have been another thread's
    if (pid == tid) people_.fork(pid, static_cast<int>(record.parent_pid), record.time);
    std::erase_if(dead_, [&](const auto& each) { return each.second == tid; });
    Thread& thread = people_.thread(pid, tid);
    thread.state = State::runnable;
    thread.last = record.time;
    log_.add(Moment{record.time, Kind::fork, 0, static_cast<uint16_t>(record.cpu), pid, tid, -1,
                    static_cast<int64_t>(record.parent_pid), static_cast<int64_t>(record.parent_tid)});
}

void Recorder::handle_exit(const Record& record) {
    const auto tid = static_cast<int>(record.tid);
    const Moment ended{record.time, Kind::exit, 0, static_cast<uint16_t>(record.cpu),
                       static_cast<int32_t>(record.pid), tid, -1, 0, 0};
    Process* process = people_.find_process(static_cast<int>(record.pid));
    if (record.pid == record.tid && process && record.time - process->executed < soon_after_exec) {
        doubtful_.push_back(ended);
        return;
    }
    log_.add(ended);
    people_.forget(tid);
    if (record.pid != record.tid) return;
    dead_.emplace_back(record.time, tid);
    if (process) process->ended = true;
}

// The kernel ends events of users without rights when their program becomes another user's: it looks
// like an end right after exec.
void Recorder::settle_exits() {
    for (const Moment& each : doubtful_) {
        const std::string stat = read_whole("/proc/" + std::to_string(each.pid) + "/stat");
        const size_t name = stat.rfind(") ");
        const char state = name == std::string::npos ? 'X' : stat[name + 2];
        if (state == 'Z' || state == 'X') {
            log_.add(each);
            people_.forget(each.tid);
            people_.process(each.pid).ended = true;
            dead_.emplace_back(each.time, each.tid);
            continue;
        }
        unrecorded_ = people_.process(each.pid).unrecorded = true;
        people_.forget(each.tid);
        people_.thread(each.pid, each.tid);
    }
    doubtful_.clear();
}

void Recorder::handle_comm(const Record& record) {
    const auto pid = static_cast<int>(record.pid), tid = static_cast<int>(record.tid);
    const int32_t name = log_.texts().number(record.text);
    log_.add(Moment{record.time, Kind::comm, static_cast<uint8_t>(record.by_exec()),
                    static_cast<uint16_t>(record.cpu), pid, tid, name, 0, 0});
    people_.thread(pid, tid);
    Process& process = people_.process(pid);
    if (pid == tid) process.comm = record.text;
    if (!record.by_exec()) return;
    people_.exec(pid);
    process.executed = record.time;
    process.exe.clear();
    process.names_program = !read_program(process, log_, record.time);
}

// Of one that has ended before its link was read: the first file that is mapped is what it runs.
void Recorder::name_program(const Record& record) {
    Process* process = people_.find_process(static_cast<int>(record.pid));
    if (!process || !process->names_program) return;
    process->names_program = false;
    process->exe = record.text;
    log_.add(Moment{record.time, Kind::exe, 0, 0, process->pid, process->pid,
                    log_.texts().number(record.text), 0, 0});
}

void Recorder::handle_sample(const Record& record, int source) {
    const auto pid = static_cast<int>(record.pid), tid = static_cast<int>(record.tid);
    if (record.pid == 0 || record.pid == nobody) return;
    if (options_.root == 0 && !people_.find(tid)) introduce(people_, log_, pid, tid, 0, true, record.time);
    Process& process = people_.process(pid);
    Moment made{record.time, Kind::sample, 0, static_cast<uint16_t>(record.cpu), pid, tid, -1,
                static_cast<int64_t>(record.ip), 0};
    if (record.in_kernel()) made.flags |= in_kernel;
    if (source >= no_clock) {
        made.kind = Kind::fault;
        if (!record.in_kernel()) made.what = leaf(process, record.ip);
        log_.add(made);
        return;
    }
    made.b = static_cast<int64_t>(options_.rings.periods[source]);
    if (source == 1) made.flags |= second_clock;
    bool truncated = false;
    uint8_t ending = 0;
    frames::Registers registers = record.registers;
    if (!record.has_registers || !walks_stacks) registers.known = 0;
    made.what = unwind(process, tid, registers, record.stack, record.chain, truncated, ending);
    made.flags |= static_cast<uint8_t>(ending << ending_shift);
    ++samples_;
    truncated_ += truncated;
    log_.add(made);
}

void Recorder::take_timer_samples() {
    if (!timer_) return;
    timer_->take([this](const TimerSlot& slot, Bytes stack) {
        Process* process = people_.find_process(slot.pid);
        if (!process || slot.time < started_) return;
        frames::Registers registers;
        for (size_t i = 0; i < frames::register_count; ++i) registers.set(i, slot.registers[i]);
        if (!people_.space(*process).find(registers.value[frames::return_register]))
            people_.refresh(*process);
        bool truncated = false;
        uint8_t ending = 0;
        Moment made{slot.time, Kind::sample, 0, 0, slot.pid, slot.tid, -1,
                    static_cast<int64_t>(registers.value[frames::return_register]),
                    static_cast<int64_t>(slot.period)};
        made.what = unwind(*process, slot.tid, registers, stack, {}, truncated, ending);
        made.flags = static_cast<uint8_t>(ending << ending_shift);
        ++samples_;
        truncated_ += truncated;
        log_.add(made);
    });
}

int32_t Recorder::unwind(Process& process, int tid, const frames::Registers& registers, Bytes stack,
                         Bytes kernel, bool& truncated, uint8_t& ending) {
    frames::StackTable& table = library_->stacks();
    std::vector<uint32_t> own;
    for (size_t i = 0; i + sizeof(uint64_t) <= kernel.size(); i += sizeof(uint64_t)) {
        uint64_t address;
        std::memcpy(&address, kernel.data() + i, sizeof address);
        if (address >= first_marker) continue;
        frames::Frame frame;
        frame.address = address;
        frame.module = kernel_module;
        frame.quality = frames::Quality::frame_pointer;
        frame.exact = own.empty();
        own.push_back(table.frame(frame));
    }
    numbers_.clear();
    if (registers.known) {
        frames::Space& space = people_.space(process);
        const frames::StackCopy copy{registers.value[frames::stack_register], stack};
        frames::PythonReader* reader = people_.python(process, static_cast<int64_t>(monotonic_ns()));
        frames::walk_stack(space, copy, registers, {true, reader != nullptr}, walk_);
        truncated = walk_.stop == frames::Stop::truncated;
        ending = static_cast<uint8_t>(walk_.stop);
        for (const frames::Step& step : walk_.steps) numbers_.push_back(step.frame);
        if (reader) {
            python_seen_ = true;
            python_.clear();
            const auto status = reader->read(tid, python_);
            if (status == frames::PythonRead::whole || status == frames::PythonRead::outer)
                frames::merge_python(walk_, copy, python_, reader, table, numbers_);
        }
    }
    own.insert(own.end(), numbers_.begin(), numbers_.end());
    return own.empty() ? -1 : static_cast<int32_t>(table.stack(own));
}

// A stack of the one frame that an address is in.
int32_t Recorder::leaf(Process& process, uint64_t ip) {
    frames::Registers registers;
    registers.set(frames::stack_register, 8);
    registers.set(frames::return_register, ip);
    frames::walk_stack(people_.space(process), {8, {}}, registers, {false, false}, walk_);
    if (walk_.steps.empty()) return -1;
    const uint32_t number = walk_.steps[0].frame;
    return static_cast<int32_t>(library_->stacks().stack({&number, 1}));
}

}  // namespace gnomon::account
