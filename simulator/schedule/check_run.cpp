#include "schedule/check_run.hpp"

#include "schedule/check_deadlock.hpp"

#include <algorithm>
#include <deque>

namespace offbeat::schedule {

namespace {

struct Place {
    uint32_t rank;
    Joint joint;
};

/** Joints that can fire. */
class Agenda {
  public:
    explicit Agenda(Next next) : next_(next) {
    }
    void add(Place place) {
        places_.push_back(place);
    }
    [[nodiscard]] bool empty() const {
        return places_.empty();
    }
    Place take() {
        if (next_ == Next::oldest) {
            const Place first = places_.front();
            places_.pop_front();
            return first;
        }
        if (next_ == Next::any) {
            state_ = state_ * 6364136223846793005U + 1442695040888963407U;
            std::swap(places_[(state_ >> 33) % places_.size()], places_.back());
        }
        const Place last = places_.back();
        places_.pop_back();
        return last;
    }

  private:
    Next next_;
    std::deque<Place> places_;
    uint64_t state_ = 1;
};

/** A completion queue of one rank. */
struct Queue {
    std::vector<Request> told;
    std::vector<Request> complete;
    std::vector<Joint> pops;
};

class Runner {
  public:
    Runner(const Wiring &wiring, const std::vector<uint32_t> &partner, Next next, RankSets *sets)
        : wiring_(wiring), partner_(partner), agenda_(next), sets_(sets) {
        needs_.resize(wiring.first_joint.back());
        posted_.resize(wiring.first_operation.back());
        result_.depth.resize(wiring.first_joint.back());
        result_.order.reserve(wiring.first_operation.back());
        if (sets_ != nullptr)
            heard_.resize(wiring.first_joint.back(), no_ranks);
        for (uint32_t rank = 0; rank < wiring.programs.size(); ++rank)
            prepare(rank);
    }

    Run go() {
        for (uint32_t rank = 0; rank < wiring_.programs.size(); ++rank)
            agenda_.add({rank, 0});
        while (!agenda_.empty())
            fire(agenda_.take());
        if (fired_ < wiring_.first_joint.back())
            throw Wrong{explain_deadlock(wiring_, partner_, needs_, posted_)};
        for (uint32_t rank = 0; sets_ != nullptr && rank < wiring_.programs.size(); ++rank)
            result_.heard_of.push_back(heard_[wiring_.first_joint[rank + 1] - 1]);
        return std::move(result_);
    }

  private:
    void prepare(uint32_t rank) {
        const Program &program = wiring_.programs[rank];
        for (Joint joint = 0; joint < program.joints.size(); ++joint) {
            const JointNeeds &needs = program.joints[joint];
            needs_[wiring_.first_joint[rank] + joint] =
                needs.requests + needs.joints + (needs.queue == none ? 0 : 1);
        }
        first_queue_.push_back(static_cast<uint32_t>(queues_.size()));
        if (program.queues == 0)
            return;
        queues_.resize(queues_.size() + program.queues);
        for (Request request = 0; request < program.operations.size(); ++request)
            if (const CompletionQueue queue = program.operations[request].queue; queue != none)
                queues_[first_queue_.back() + queue].told.push_back(request);
        for (Joint joint = 0; joint < program.joints.size(); ++joint)
            if (const CompletionQueue queue = program.joints[joint].queue; queue != none)
                queues_[first_queue_.back() + queue].pops.push_back(joint);
    }

    void fire(Place place) {
        ++fired_;
        const Program &program = wiring_.programs[place.rank];
        const uint32_t joint = wiring_.first_joint[place.rank] + place.joint;
        if (sets_ != nullptr && place.joint == 0)
            heard_[joint] = sets_->one(static_cast<int>(place.rank));
        for (const uint32_t i : wiring_.operations_of.of(joint)) {
            const uint32_t number = wiring_.first_operation[place.rank] + i;
            if (!is_message(program.operations[i]))
                result_.order.push_back(number);
            else
                post(place, program.operations[i], number);
        }
        for (const Joint follower : wiring_.followers_of.of(joint)) {
            learn(place.rank, follower, result_.depth[joint], joint);
            count_down(place.rank, follower);
        }
    }

    void post(Place place, const Operation &operation, uint32_t number) {
        posted_[number] = 1;
        if (posted_[partner_[number]] == 0)
            return;
        const auto peer = static_cast<uint32_t>(operation.peer);
        const uint32_t here = wiring_.first_joint[place.rank] + place.joint;
        const uint32_t there =
            wiring_.first_joint[peer] +
            wiring_.programs[peer].operations[partner_[number] - wiring_.first_operation[peer]].joint;
        const uint32_t depth = std::max(result_.depth[here], result_.depth[there]) + 1;
        result_.order.push_back(is_send(operation) ? number : partner_[number]);
        complete(place.rank, number, depth, here, there);
        complete(peer, partner_[number], depth, there, here);
    }

    void complete(uint32_t rank, uint32_t number, uint32_t depth, uint32_t here, uint32_t there) {
        const Request request = number - wiring_.first_operation[rank];
        const Operation &operation = wiring_.programs[rank].operations[request];
        // a plain send may be complete long before anybody receives it
        const bool hears = operation.kind != Kind::send;
        for (const Joint joint : wiring_.waiters_of.of(number)) {
            learn(rank, joint, depth, here);
            if (hears)
                learn(rank, joint, depth, there);
            count_down(rank, joint);
        }
        if (operation.queue == none)
            return;
        Queue &queue = queues_[first_queue_[rank] + operation.queue];
        const size_t k = queue.complete.size();
        queue.complete.push_back(request);
        const Joint joint = queue.pops[k];
        result_.popped[wiring_.first_joint[rank] + joint] = {queue.told[k], request};
        result_.popped_at[number] = joint;
        learn(rank, joint, depth, here);
        if (hears)
            learn(rank, joint, depth, there);
        count_down(rank, joint);
    }

    /** A joint comes after `depth` messages, and after all that another joint (of any rank) knew. */
    void learn(uint32_t rank, Joint joint, uint32_t depth, uint32_t from) {
        const uint32_t number = wiring_.first_joint[rank] + joint;
        result_.depth[number] = std::max(result_.depth[number], depth);
        if (sets_ != nullptr)
            heard_[number] = sets_->unite(heard_[number], heard_[from]);
    }

    void count_down(uint32_t rank, Joint joint) {
        if (--needs_[wiring_.first_joint[rank] + joint] == 0)
            agenda_.add({rank, joint});
    }

    const Wiring &wiring_;
    const std::vector<uint32_t> &partner_;
    Agenda agenda_;
    RankSets *sets_;
    std::vector<uint32_t> needs_; /**< per joint of all ranks: what it still waits for */
    std::vector<uint8_t> posted_; /**< per operation of all ranks */
    std::vector<RankSet> heard_;
    std::vector<Queue> queues_;
    std::vector<uint32_t> first_queue_; /**< of each rank */
    size_t fired_ = 0;
    Run result_;
};

} // namespace

Run run(const Wiring &wiring, const std::vector<uint32_t> &partner, Next next, RankSets *sets) {
    return Runner(wiring, partner, next, sets).go();
}

} // namespace offbeat::schedule
