// The runs of flip.py and table.py for a GPU, and for whatever compiles C++: the same arithmetic, the same bits.
//
// A lane (a thread of the GPU) plays a job at a time: it takes the next one by a counter, plays it in chunks of
// turns, writes what came of it and takes the next. What a lane has in hand is kept between launches, so that a
// launch is short and a run may be long. Lanes look up only between chunks whether a run is over: all of a warp
// then do it together. For the host, lanes are played one after the other.
//
// States of participants are packed, BITS each, in 32-bit words; word w of lane l is at [w * stride + l], so that
// neighbouring lanes use neighbouring banks.

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__ __forceinline__
#else
#define HOST_DEVICE inline
#endif

#ifndef CHUNK
#define CHUNK 32  // turns between two looks at whether a run is over
#endif
#ifndef TOGETHER
#define TOGETHER 8  // turns whose random words are made side by side
#endif

#if CHUNK % TOGETHER
#error "CHUNK must be a multiple of TOGETHER"
#endif

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
typedef int i32;
typedef unsigned char u8;
typedef signed char i8;

#define NEVER 0xFFFFFFFFu
#define IDLE -1ll    // the lane has no job
#define TALLIES 8    // right, wrong, tied, converged, rounds, queries; first votes: more right ones, as many
#define VOTING 11ull // the purpose of the streams that first votes come from (streams.py)

// ---- random numbers: streams.py ------------------------------------------------------------------------------

#define GOLDEN 0x9E3779B97F4A7C15ull
#define M1 0xBF58476D1CE4E5B9ull
#define M2 0x94D049BB133111EBull

HOST_DEVICE u64 mix(u64 z) {
  z = (z ^ (z >> 30)) * M1;
  z = (z ^ (z >> 27)) * M2;
  return z ^ (z >> 31);
}

HOST_DEVICE void stream(u64 seed, u64 repetition, u64 index, u64 purpose, u64& word, u64& step) {
  u64 key = mix(seed + GOLDEN);
  key = mix(key ^ (repetition + GOLDEN));
  key = mix(key ^ (index * GOLDEN + 1));
  key = mix(key ^ (purpose + M1));
  word = key;
  step = mix(key + GOLDEN) | 1;
}

// A number below n and a fresh uniform word: high and low half of word * n.
HOST_DEVICE u32 below(u64 word, u32 n, u64& uniform) {
  const u64 low = (u64)(u32)word * n;
  const u64 high = (word >> 32) * n + (low >> 32);
  uniform = (high << 32) | (u32)low;
  return (u32)(high >> 32);
}

// ---- lanes ---------------------------------------------------------------------------------------------------

#ifdef __CUDACC__
// The 32 lanes of a warp ask together.
struct Warp {
  __device__ __forceinline__ bool any(bool mine) const { return __any_sync(0xFFFFFFFFu, mine); }
  __device__ __forceinline__ i64 take(u64* counter, bool need) const {
    const u32 asking = __ballot_sync(0xFFFFFFFFu, need);
    if (!asking) return IDLE;
    const u32 me = threadIdx.x & 31, leader = __ffs(asking) - 1;
    u64 first = 0;
    if (me == leader) first = atomicAdd(counter, (u64)__popc(asking));
    first = __shfl_sync(0xFFFFFFFFu, first, leader);
    return (i64)(first + __popc(asking & ((1u << me) - 1)));
  }
  __device__ __forceinline__ void add(u64* to, u64 what) const { atomicAdd(to, what); }
};
#else
struct Alone {
  bool any(bool mine) const { return mine; }
  i64 take(u64* counter, bool need) const { return need ? (i64)(*counter)++ : IDLE; }
  void add(u64* to, u64 what) const { *to += what; }
};
#endif

// What came of a job, for sweeps: the class that is right is 1.
template <class Lanes>
HOST_DEVICE void count(const Lanes& lanes, u64* tally, u32 right, u32 wrong, bool over, u64 used, u64 asks) {
  lanes.add(tally + (right > wrong ? 0 : right < wrong ? 1 : 2), 1);
  if (over) lanes.add(tally + 3, 1);
  lanes.add(tally + 4, used);
  lanes.add(tally + 5, asks);
}

// Jobs first to last - 1: arrays over jobs begin with the first.
#define JOBS                                                                                              \
  i64 first, i64 last, u64 *counter, i64 chunks, i64 lanes, const u64 *job_word, const u64 *job_step,     \
      const u32 *job_row, const u32 *job_set
#define JOB_NAMES first, last, counter, chunks, lanes, job_word, job_step, job_row, job_set

// ---- flip.py: two-class Slush, every vote cast, one at a time -----------------------------------------------

#define FLIP                                                                                              \
  JOBS, const u32 *votes, const i32 *fixed, const u8 *closed, const u64 *chance, i64 chances, i64 width,  \
      const u32 *offset, i64 offset_stride, i64 honest, i64 limit, i64 *lane_job, u64 *lane_word,         \
      u64 *lane_step, u32 *lane_turn, u32 *lane_last, u32 *lane_blue, u32 *lane_nodes, u32 *out_nodes,    \
      u32 *out_last, u8 *out_over, u64 *tally, i64 tally_stride
#define FLIP_NAMES                                                                                        \
  JOB_NAMES, votes, fixed, closed, chance, chances, width, offset, offset_stride, honest, limit,    \
      lane_job, lane_word, lane_step, lane_turn, lane_last, lane_blue, lane_nodes, out_nodes, out_last, out_over, \
      tally, tally_stride

// The table has two rows of ``width`` entries (an even number) for every threshold: the chances that a red node turns
// by how many say blue, and those of a blue one. ``blue`` is that number in bytes of the table, ``middle`` the end of
// the first row. Only what turns is written down: one multiplication says where to look.
template <bool LOCAL>
HOST_DEVICE void flip_turn(u64 uniform, u32 i, u32* nodes, u32 stride, const u64* middle, i32 half,
                           const u32* own_offset, u32 turn, u32& blue, u32& last) {
  u32* cell = (u32*)((char*)nodes + (i >> 5) * (4 * stride));
  const u32 held = *cell, bit = 1u << (i & 31);
  const i32 more = held & bit ? -8 : 8;
  i32 place = (i32)blue + more * half;
  if (LOCAL) place += (i32)own_offset[i] * 8;
  if (uniform < *(const u64*)((const char*)middle + place)) {
    *cell = held ^ bit;
    blue += (u32)more;
    last = turn;
  }
}

// table: the chances, where they are read fastest; nodes, stride: the packed classes of this lane.
template <bool LOCAL, class Lanes>
HOST_DEVICE void flip_lane(const Lanes& warp, i64 lane, u32* nodes, u32 stride, const u64* table, u64* own_tally,
                           FLIP) {
  const u32 size = (u32)honest, words = (size + 31) / 32, most = (u32)limit;
  const i32 half = -(i32)(width / 2);
  const u64* middle = table - half;
  i64 job = lane_job[lane];
  bool dry = false;
  u64 word = lane_word[lane], step = lane_step[lane];
  u32 turn = lane_turn[lane], final = lane_last[lane], blue = job == IDLE ? 0 : lane_blue[lane];
  u32 red_goal = NEVER, blue_goal = NEVER;
  const u32* own_offset = offset;
  if (job != IDLE) {
    const i64 set = job_set[job - first];
    if (closed[2 * set]) red_goal = 8 * fixed[2 * set + 1];
    if (closed[2 * set + 1]) blue_goal = 8 * (size + fixed[2 * set + 1]);
    own_offset = offset + set * offset_stride;
    if (nodes != lane_nodes + lane)
      for (u32 w = 0; w < words; ++w) nodes[w * stride] = lane_nodes[w * lanes + lane];
  }
  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const bool need = job == IDLE && !dry;
    if (warp.any(need)) {
      const i64 next = warp.take(counter, need);
      if (need) {
        if (next < last) {
          job = next;
          const i64 place = job - first;
          const i64 set = job_set[place];
          const u32* row = votes + (i64)job_row[place] * words;
          word = job_word[place];
          step = job_step[place];
          u32 ones = 0;
          for (u32 w = 0; w < words; ++w) {
            const u32 bits = row[w];
            nodes[w * stride] = bits;
#ifdef __CUDA_ARCH__
            ones += __popc(bits);
#else
            ones += __builtin_popcount(bits);
#endif
          }
          blue = 8 * (ones + fixed[2 * set + 1]);
          red_goal = closed[2 * set] ? 8 * fixed[2 * set + 1] : NEVER;
          blue_goal = closed[2 * set + 1] ? 8 * (size + fixed[2 * set + 1]) : NEVER;
          own_offset = offset + set * offset_stride;
          turn = final = 0;
          if (tally) {  // the majority of all first votes, those of the malicious too
            const u32 twice = 2 * (ones + fixed[2 * set + 1]), all = size + fixed[2 * set] + fixed[2 * set + 1];
            u64* to = own_tally ? own_tally : tally + set * tally_stride;
            if (twice >= all) warp.add(to + (twice > all ? 6 : 7), 1);
          }
        } else {
          dry = true;
        }
      }
      if (!warp.any(job != IDLE)) break;
    }
    const bool playing = job != IDLE;
    if (warp.any(playing && most - turn < CHUNK)) {
      const u32 left = playing ? (most - turn < CHUNK ? most - turn : CHUNK) : 0;
      for (u32 t = 0; t < left; ++t) {
        word += step;
        u64 uniform;
        const u32 i = below(mix(word), size, uniform);
        ++turn;
        flip_turn<LOCAL>(uniform, i, nodes, stride, middle, half, own_offset, turn, blue, final);
      }
    } else if (playing) {
      for (u32 t = 0; t < CHUNK; t += TOGETHER) {
#ifdef __CUDACC__
#pragma unroll
#endif
        for (u32 each = 0; each < TOGETHER; ++each) {
          word += step;
          u64 uniform;
          const u32 i = below(mix(word), size, uniform);
          flip_turn<LOCAL>(uniform, i, nodes, stride, middle, half, own_offset, turn + each + 1, blue, final);
        }
        turn += TOGETHER;
      }
    }
    // A goal is never left, so it is enough to look now: the last turn that changed something reached it.
    const bool over = blue == red_goal || blue == blue_goal;
    if (playing && (over || turn >= most)) {
      const i64 place = job - first;
      const u32 asks = over ? final : most;
      if (out_nodes)
        for (u32 w = 0; w < words; ++w) out_nodes[place * words + w] = nodes[w * stride];
      if (out_last) {
        out_last[place] = asks;
        out_over[place] = over;
      }
      if (tally) {
        const i64 set = job_set[place];
        const u32 right = blue / 8 - fixed[2 * set + 1];
        count(warp, own_tally ? own_tally : tally + set * tally_stride, right, size - right, over,
              (asks + size - 1) / size, asks);
      }
      job = IDLE;
      red_goal = blue_goal = NEVER;
    }
  }
  lane_job[lane] = job;
  lane_word[lane] = word;
  lane_step[lane] = step;
  lane_turn[lane] = turn;
  lane_last[lane] = final;
  lane_blue[lane] = blue;
  if (job != IDLE && nodes != lane_nodes + lane)
    for (u32 w = 0; w < words; ++w) lane_nodes[w * lanes + lane] = nodes[w * stride];
}

// ---- table.py: any machine -----------------------------------------------------------------------------------

#define TABLE                                                                                             \
  JOBS, const u32 *votes, const i32 *held, const i32 *asking_first, const i32 *fixed, const u8 *closed,   \
      const u64 *chance, i64 chances, const u32 *offset, i64 own, const i32 *after, const i32 *class_of,    \
      const i32 *asking, i64 classes, i64 decides, i64 honest, i64 rounds, i64 *lane_job, u64 *lane_word, \
      u64 *lane_step, i32 *lane_turn, i32 *lane_used, i64 *lane_asks, i32 *lane_undecided,                \
      u32 *lane_counts, u32 *lane_nodes, i32 *lane_wins, u32 *out_nodes, i64 *out_used, i64 *out_asks,    \
      u8 *out_over
#define TABLE_NAMES                                                                                       \
  JOB_NAMES, votes, held, asking_first, fixed, closed, chance, chances, offset, own, after, class_of,       \
      asking, classes, decides, honest, rounds, lane_job, lane_word, lane_step, lane_turn, lane_used,     \
      lane_asks, lane_undecided, lane_counts, lane_nodes, lane_wins, out_nodes, out_used, out_asks, out_over

// Whether all hold a class that cannot be left, or all have decided.
HOST_DEVICE bool is_over(const u32* counts, u32 stride, const i32* fixed, const u8* closed, u32 classes,
                         u32 honest, bool decides, i32 undecided) {
  if (decides) return undecided == 0;
  for (u32 c = 0; c < classes; ++c)
    if (counts[c * stride] - fixed[c] == honest && closed[c]) return true;
  return false;
}

// counts: (class, stride), and with LOCKSTEP once more, as they will be after the round.
template <u32 BITS, bool LOCKSTEP, bool WINS, class Lanes>
HOST_DEVICE void table_lane(const Lanes& warp, i64 lane, u32* nodes, u32 stride, u32* counts, u32 count_stride,
                            const u64* table, TABLE) {
  const u32 size = (u32)honest, many = (u32)classes;
  const u32 PER = 32 / BITS, MASK = BITS == 32 ? 0xFFFFFFFFu : (1u << (BITS & 31)) - 1;
  const u32 words = (size + PER - 1) / PER;
  u32* next_counts = LOCKSTEP ? counts + many * count_stride : counts;
  i32* wins = WINS ? lane_wins + lane * honest * classes : 0;
  const u32 kept = LOCKSTEP ? 2 * many : many;
  i64 job = lane_job[lane], set = 0;
  bool dry = false, over = false;
  u64 word = lane_word[lane], step = lane_step[lane];
  i32 turn = lane_turn[lane], used = lane_used[lane], undecided = lane_undecided[lane];
  i64 asks = lane_asks[lane];
  if (job != IDLE) {
    set = job_set[job - first];
    for (u32 c = 0; c < kept; ++c) counts[c * count_stride] = lane_counts[c * lanes + lane];
    if (nodes != lane_nodes + lane)
      for (u32 w = 0; w < words; ++w) nodes[w * stride] = lane_nodes[w * lanes + lane];
  }
  for (i64 chunk = 0; chunk < chunks; ++chunk) {
    const bool need = job == IDLE && !dry;
    if (warp.any(need)) {
      const i64 next = warp.take(counter, need);
      if (need) {
        if (next < last) {
          job = next;
          const i64 place = job - first, row = job_row[place];
          set = job_set[place];
          word = job_word[place];
          step = job_step[place];
          for (u32 w = 0; w < words; ++w) nodes[w * stride] = votes[row * words + w];
          for (u32 c = 0; c < many; ++c) {
            const u32 x = held[row * many + c] + fixed[set * many + c];
            counts[c * count_stride] = x;
            next_counts[c * count_stride] = x;
          }
          if (WINS)
            for (i64 w = 0; w < honest * classes; ++w) wins[w] = 0;
          undecided = asking_first[row];
          turn = used = 0;
          asks = 0;
          over = is_over(counts, count_stride, fixed + set * many, closed + set * many, many, size, decides, undecided);
        } else {
          dry = true;
        }
      }
      if (!warp.any(job != IDLE)) break;
    }
    if (job == IDLE) continue;
    const i32* said = fixed + set * many;
    const u8* shut = closed + set * many;
    for (u32 t = 0; t < CHUNK && !over && used < rounds; ++t) {
      word += step;
      u64 uniform = mix(word);
      const u32 i = LOCKSTEP ? (u32)turn : below(uniform, size, uniform);
      u32* cell = nodes + (i / PER) * stride;
      const u32 shift = (i % PER) * BITS;
      const u32 packed = *cell;
      const u32 s = (packed >> shift) & MASK;
      ++turn;
      if (asking[s]) {
        ++asks;
        const i32 mine = class_of[s];
        const u64* row = table + offset[i];
        i32 won = -1;
        for (u32 c = 0; c < many; ++c) {
          const u64 likely = row[counts[c * count_stride] - ((i32)c == mine ? (u32)own : 0u)];
          if (uniform < likely) {
            won = (i32)c;
            break;
          }
          uniform -= likely;
        }
        u32 ahead = 0;
        if (WINS && won >= 0) {
          i32* mine_wins = wins + (i64)i * many;
          const i32 now = ++mine_wins[won];
          ahead = mine < 0 || now > mine_wins[mine];  // snowball.is_ahead
        }
        const u32 fresh = (u32)after[(s * (many + 1) + (u32)(won + 1)) * 2 + ahead];
        if (fresh != s) {
          *cell = (packed & ~(MASK << shift)) | (fresh << shift);
          undecided -= asking[s] - asking[fresh];
          const i32 then = class_of[fresh];
          if (mine != then) {
            if (mine >= 0) --next_counts[mine * count_stride];
            if (then >= 0) ++next_counts[then * count_stride];
          }
          if (!LOCKSTEP) {
            if (decides) over = undecided == 0;
            else over = then >= 0 && counts[then * count_stride] - said[then] == size && shut[then];
          }
        }
      }
      if (turn == (i32)size || over) {
        ++used;
        turn = 0;
        if (LOCKSTEP) {
          for (u32 c = 0; c < many; ++c) counts[c * count_stride] = next_counts[c * count_stride];
          over = is_over(counts, count_stride, said, shut, many, size, decides, undecided);
        }
      }
    }
    if (over || used >= rounds) {
      const i64 place = job - first;
      for (u32 w = 0; w < words; ++w) out_nodes[place * words + w] = nodes[w * stride];
      out_used[place] = used;
      out_asks[place] = asks;
      out_over[place] = over;
      job = IDLE;
      over = false;
    }
  }
  lane_job[lane] = job;
  lane_word[lane] = word;
  lane_step[lane] = step;
  lane_turn[lane] = turn;
  lane_used[lane] = used;
  lane_asks[lane] = asks;
  lane_undecided[lane] = undecided;
  if (job != IDLE) {
    for (u32 c = 0; c < kept; ++c) lane_counts[c * lanes + lane] = counts[c * count_stride];
    if (nodes != lane_nodes + lane)
      for (u32 w = 0; w < words; ++w) lane_nodes[w * lanes + lane] = nodes[w * stride];
  }
}

// ---- before the run: streams and votes; after it: classes ----------------------------------------------------

#define STREAMS                                                                                           \
  i64 first, i64 last, i64 inputs, u64 seed, const i64 *keys, u64 *job_word, u64 *job_step, u32 *job_row, \
      u32 *job_set
#define STREAM_NAMES first, last, inputs, seed, keys, job_word, job_step, job_row, job_set

// Job repetition * inputs + item of a deliberation.
HOST_DEVICE void make_stream(i64 job, STREAMS) {
  const i64 place = job - first, item = job % inputs;
  stream(seed, (u64)(job / inputs), (u64)keys[item], 0, job_word[place], job_step[place]);
  job_row[place] = job_set[place] = (u32)item;
}

#define VOTES                                                                                             \
  i64 first, i64 last, i64 repeats, i64 shift, const u64 *seeds, const u64 *planes, i64 honest,             \
      u64 *job_word, u64 *job_step, u32 *job_row, u32 *job_set, u32 *votes
#define VOTE_NAMES                                                                                        \
  first, last, repeats, shift, seeds, planes, honest, job_word, job_step, job_row, job_set, votes

// Job set * repeats + run of a sweep: the stream of the run, and first votes from a stream of their own.
//
// Participant i is right (1) if its uniform word of 64 bits is below its threshold. 64 participants toss together: a
// random word is one more bit of each one's uniform word, from the highest on, until every comparison is made.
// planes: (set, group of 64, bit), the thresholds' bits, the highest first.
HOST_DEVICE void make_votes(i64 job, VOTES) {
  const i64 place = job - first, set = job / repeats, run = job % repeats + shift;
  stream(seeds[set], 0, (u64)run, 0, job_word[place], job_step[place]);
  job_row[place] = (u32)place;
  job_set[place] = (u32)set;
  u64 word, step;
  stream(seeds[set], 0, (u64)run, VOTING, word, step);
  const u32 words = (u32)(honest + 31) / 32, groups = (u32)(honest + 63) / 64;
  for (u32 g = 0; g < groups; ++g) {
    const u64* threshold = planes + (set * groups + g) * 64;
    const i64 left = honest - 64 * (i64)g;
    u64 open = left >= 64 ? ~0ull : (1ull << left) - 1, right = 0;
    for (u32 bit = 0; bit < 64 && open; ++bit) {
      word += step;
      const u64 drawn = mix(word), wanted = threshold[bit];
      right |= open & wanted & ~drawn;
      open &= ~(drawn ^ wanted);
    }
    votes[place * words + 2 * g] = (u32)right;
    if (2 * g + 1 < words) votes[place * words + 2 * g + 1] = (u32)(right >> 32);
  }
}

#define PLANES i64 sets, i64 honest, const u64 *thresholds, u64 *planes
#define PLANE_NAMES sets, honest, thresholds, planes

// Entry (set, group, bit) of the planes, from the thresholds (set, participant).
HOST_DEVICE void make_plane(i64 entry, PLANES) {
  const i64 groups = (honest + 63) / 64, set = entry / (64 * groups), from = entry / 64 % groups * 64;
  const u32 bit = 63 - (u32)(entry % 64);
  u64 plane = 0;
  for (u32 i = 0; i < 64 && from + i < honest; ++i) plane |= (thresholds[set * honest + from + i] >> bit & 1) << i;
  planes[entry] = plane;
}

#define CLASSES i64 jobs, i64 honest, i64 bits, const u32 *nodes, const i32 *class_of, i8 *decisions
#define CLASS_NAMES jobs, honest, bits, nodes, class_of, decisions

// Entry job * honest + i of the decisions.
HOST_DEVICE void write_class(i64 entry, CLASSES) {
  const u32 per = 32 / (u32)bits, mask = bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1;
  const i64 job = entry / honest, words = (honest + per - 1) / per;
  const u32 i = (u32)(entry % honest);
  decisions[entry] = (i8)class_of[(nodes[job * words + i / per] >> (i % per * bits)) & mask];
}

// ---- launches --------------------------------------------------------------------------------------------------

#ifdef __CUDACC__

#define EACH(from, to)                                                                                    \
  for (i64 each = (from) + blockIdx.x * (i64)blockDim.x + threadIdx.x; each < (to);                       \
       each += (i64)gridDim.x * blockDim.x)

extern "C" __global__ void streams_for(STREAMS) { EACH(first, last) make_stream(each, STREAM_NAMES); }
extern "C" __global__ void votes_for(VOTES) { EACH(first, last) make_votes(each, VOTE_NAMES); }
extern "C" __global__ void planes_for(PLANES) {
  EACH(0, sets * ((honest + 63) / 64) * 64) make_plane(each, PLANE_NAMES);
}
extern "C" __global__ void classes_of(CLASSES) { EACH(0, jobs * honest) write_class(each, CLASS_NAMES); }

// Shared memory: the table (if TABLE_SHARED), tallies of the block, counts, nodes (if NODES_SHARED).
extern __shared__ u64 block_memory[];

__device__ __forceinline__ u64* block_table(const u64* chance, i64 chances, bool shared) {
  if (shared)
    for (i64 x = threadIdx.x; x < chances; x += blockDim.x) block_memory[x] = chance[x];
  return block_memory + (shared ? chances : 0);
}

#ifdef PLAY_FLIP
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) flip(FLIP) {
  const i64 lane = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u64* after_table = block_table(chance, chances, TABLE_SHARED);
  const bool one = tally && tally_stride == 0;  // one tally for all: summed up by block
  if (threadIdx.x < TALLIES) after_table[threadIdx.x] = 0;
  __syncthreads();
#if NODES_SHARED
  u32* nodes = (u32*)(after_table + TALLIES) + threadIdx.x;
  const u32 stride = BLOCK;
#else
  u32* nodes = lane_nodes + lane;
  const u32 stride = (u32)lanes;
#endif
#if TABLE_SHARED
  const u64* table = block_memory;
#else
  const u64* table = chance;
#endif
  flip_lane<KERNEL_LOCAL>(Warp(), lane, nodes, stride, table, one ? after_table : (u64*)0, FLIP_NAMES);
  __syncthreads();
  if (one && threadIdx.x < TALLIES) atomicAdd(tally + threadIdx.x, after_table[threadIdx.x]);
}
#endif

#ifdef PLAY_TABLE
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) table(TABLE) {
  const i64 lane = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  u32* counts = (u32*)block_table(chance, chances, TABLE_SHARED) + threadIdx.x;
  __syncthreads();
#if NODES_SHARED
  u32* nodes = counts + BLOCK * (KERNEL_LOCKSTEP ? 2 : 1) * (u32)classes;
  const u32 stride = BLOCK;
#else
  u32* nodes = lane_nodes + lane;
  const u32 stride = (u32)lanes;
#endif
#if TABLE_SHARED
  const u64* likely = block_memory;
#else
  const u64* likely = chance;
#endif
  table_lane<KERNEL_BITS, KERNEL_LOCKSTEP, KERNEL_WINS>(Warp(), lane, nodes, stride, counts, BLOCK, likely, TABLE_NAMES);
}
#endif

#else  // the host: lanes one after the other

extern "C" void streams_for(STREAMS) {
  for (i64 job = first; job < last; ++job) make_stream(job, STREAM_NAMES);
}
extern "C" void votes_for(VOTES) {
  for (i64 job = first; job < last; ++job) make_votes(job, VOTE_NAMES);
}
extern "C" void planes_for(PLANES) {
  for (i64 entry = 0; entry < sets * ((honest + 63) / 64) * 64; ++entry) make_plane(entry, PLANE_NAMES);
}
extern "C" void classes_of(CLASSES) {
  for (i64 entry = 0; entry < jobs * honest; ++entry) write_class(entry, CLASS_NAMES);
}

extern "C" void flip_local(FLIP) {
  for (i64 lane = 0; lane < lanes; ++lane)
    flip_lane<true>(Alone(), lane, lane_nodes + lane, (u32)lanes, chance, (u64*)0, FLIP_NAMES);
}
extern "C" void flip_global(FLIP) {
  for (i64 lane = 0; lane < lanes; ++lane)
    flip_lane<false>(Alone(), lane, lane_nodes + lane, (u32)lanes, chance, (u64*)0, FLIP_NAMES);
}

#define HOST_TABLE(name, BITS, LOCKSTEP, WINS)                                                            \
  extern "C" void name(TABLE) {                                                                           \
    for (i64 lane = 0; lane < lanes; ++lane)                                                              \
      table_lane<BITS, LOCKSTEP, WINS>(Alone(), lane, lane_nodes + lane, (u32)lanes, lane_counts + lane,  \
                                       (u32)lanes, chance, TABLE_NAMES);                                  \
  }
#define HOST_TABLES(BITS)                       \
  HOST_TABLE(table_##BITS##_0_0, BITS, false, false) \
  HOST_TABLE(table_##BITS##_0_1, BITS, false, true)  \
  HOST_TABLE(table_##BITS##_1_0, BITS, true, false)  \
  HOST_TABLE(table_##BITS##_1_1, BITS, true, true)
HOST_TABLES(2)
HOST_TABLES(4)
HOST_TABLES(8)
HOST_TABLES(32)

#endif
