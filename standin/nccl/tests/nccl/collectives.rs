//! Every operation with every type, against a computation on the host. The same code runs on threads of one process and
//! in several processes.

use crate::libraries::{Rank, UniqueId, call, ok, unique_id};

/// Elements of a part: small numbers, so that sums and products are exact in every type.
trait Element: Copy + Default + PartialEq + std::fmt::Debug {
    const NUMBER: u32;
    fn of(value: u32) -> Self;
    fn value(self) -> u32;
}

macro_rules! elements {
    ($($ty:ty = $number:literal;)*) => {
        $(impl Element for $ty {
            const NUMBER: u32 = $number;
            fn of(value: u32) -> Self {
                value as $ty
            }
            fn value(self) -> u32 {
                self as u32
            }
        })*
    };
}

elements! { i8 = 0; u8 = 1; i32 = 2; u32 = 3; i64 = 4; u64 = 5; f32 = 7; f64 = 8; }

/// Halves, by their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bf16(u16);

impl Element for Bf16 {
    const NUMBER: u32 = 9;
    fn of(value: u32) -> Self {
        Self(((value as f32).to_bits() >> 16) as u16)
    }
    fn value(self) -> u32 {
        f32::from_bits(u32::from(self.0) << 16) as u32
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct F16(u16);

impl Element for F16 {
    const NUMBER: u32 = 6;
    fn of(value: u32) -> Self {
        let log = value.checked_ilog2().unwrap_or(0);
        let fraction = if value == 0 { 0 } else { (value << (10 - log)) & 1023 };
        Self(if value == 0 { 0 } else { ((log + 15) << 10 | fraction) as u16 })
    }
    fn value(self) -> u32 {
        let (exponent, fraction) = (u32::from(self.0 >> 10), u32::from(self.0 & 1023));
        if exponent == 0 { 0 } else { (1024 + fraction) << (exponent - 15) >> 10 }
    }
}

/// Elements of a part.
const PART: usize = 5;

/// Element `i` of rank `rank`'s buffer.
fn element(rank: usize, i: usize) -> u32 {
    ((rank * 3 + i) % 4) as u32
}

fn buffer<T: Element>(rank: usize, count: usize) -> Vec<T> {
    (0..count).map(|i| T::of(element(rank, i))).collect()
}

fn check<T: Element>(rank: &Rank, what: &str, found: &[T], expected: impl Fn(usize) -> u32) {
    let found: Vec<u32> = found.iter().map(|v| v.value()).collect();
    let expected: Vec<u32> = (0..found.len()).map(expected).collect();
    assert_eq!(found, expected, "{what} of {} on rank {}", std::any::type_name::<T>(), rank.rank);
}

/// All operations with elements of one type.
fn all_of<T: Element>(r: &Rank) {
    let (n, own) = (r.count, r.rank);
    let ranks = || 0..n;
    let (comm, stream, ty) = (r.communicator, r.stream, T::NUMBER);
    let from = r.upload(&buffer::<T>(own, PART * n));
    let to = || r.upload(&vec![T::of(77); PART * n]);
    let of = |rank: usize, i: usize| element(rank, i);

    for (number, name) in ["sum", "product", "max", "min"].into_iter().enumerate() {
        let expected = |i: usize| {
            let column = ranks().map(|rank| of(rank, i));
            match number {
                0 => column.sum(),
                1 => column.product(),
                2 => column.max().unwrap_or(0),
                _ => column.min().unwrap_or(0),
            }
        };
        let out = to();
        ok!(nccl, ncclAllReduce(
            from => u64, out => u64, PART => usize, ty => u32, number as u32 => u32, comm => usize, stream => usize
        ));
        check(r, name, &r.download::<T>(out, PART), expected);
    }

    let sum = |i: usize| ranks().map(|rank| of(rank, i)).sum::<u32>();
    let out = to();
    ok!(nccl, ncclReduceScatter(
        from => u64, out => u64, PART => usize, ty => u32, 0 => u32, comm => usize, stream => usize
    ));
    check(r, "reduce-scatter", &r.download::<T>(out, PART), |i| sum(own * PART + i));

    let out = to();
    ok!(nccl, ncclAllGather(
        from => u64, out => u64, PART => usize, ty => u32, comm => usize, stream => usize
    ));
    check(r, "all-gather", &r.download::<T>(out, PART * n), |i| of(i / PART, i % PART));

    let root = n - 1;
    let out = to();
    ok!(nccl, ncclBroadcast(
        from => u64, out => u64, PART => usize, ty => u32, root as i32 => i32, comm => usize, stream => usize
    ));
    check(r, "broadcast", &r.download::<T>(out, PART), |i| of(root, i));

    let out = to();
    ok!(nccl, ncclReduce(
        from => u64, out => u64, PART => usize, ty => u32, 0 => u32, root as i32 => i32, comm => usize,
        stream => usize
    ));
    check(r, "reduce", &r.download::<T>(out, PART), |i| if own == root { sum(i) } else { 77 });

    let out = to();
    ok!(nccl, ncclAlltoAll(
        from => u64, out => u64, PART => usize, ty => u32, comm => usize, stream => usize
    ));
    check(r, "all-to-all", &r.download::<T>(out, PART * n), |i| {
        of(i / PART, own * PART + i % PART)
    });

    let out = to();
    ok!(nccl, ncclGather(
        from => u64, out => u64, PART => usize, ty => u32, root as i32 => i32, comm => usize, stream => usize
    ));
    let gathered = |i: usize| if own == root { of(i / PART, i % PART) } else { 77 };
    check(r, "gather", &r.download::<T>(out, PART * n), gathered);

    let out = to();
    ok!(nccl, ncclScatter(
        from => u64, out => u64, PART => usize, ty => u32, root as i32 => i32, comm => usize, stream => usize
    ));
    check(r, "scatter", &r.download::<T>(out, PART), |i| of(root, own * PART + i));

    // Around a ring, and to oneself: all at once, in a group.
    let (out, own_out) = (to(), to());
    let (next, before) = ((own + 1) % n, (own + n - 1) % n);
    ok!(nccl, ncclGroupStart());
    for (to, at) in [(next, from), (own, from + (PART * size_of::<T>()) as u64)] {
        ok!(nccl, ncclSend(
            at => u64, PART => usize, ty => u32, to as i32 => i32, comm => usize, stream => usize
        ));
    }
    for (peer, at) in [(before, out), (own, own_out)] {
        ok!(nccl, ncclRecv(
            at => u64, PART => usize, ty => u32, peer as i32 => i32, comm => usize, stream => usize
        ));
    }
    ok!(nccl, ncclGroupEnd());
    if n > 1 {
        check(r, "ring", &r.download::<T>(out, PART), |i| of(before, i));
        check(r, "to oneself", &r.download::<T>(own_out, PART), |i| of(own, PART + i));
    }
}

/// Everything, as one rank.
pub(crate) fn everything(id: UniqueId, rank: usize, count: usize, device: usize) {
    let r = Rank::join(id, rank, count, device);
    all_of::<i8>(&r);
    all_of::<u8>(&r);
    all_of::<i32>(&r);
    all_of::<u32>(&r);
    all_of::<i64>(&r);
    all_of::<u64>(&r);
    all_of::<F16>(&r);
    all_of::<f32>(&r);
    all_of::<f64>(&r);
    all_of::<Bf16>(&r);
    average(&r);
    halves(&r);
    replayed(&r);
    assert_eq!(r.asynchronous_error(), 0);
    ok!(nccl, ncclCommDestroy(r.communicator => usize));
}

fn average(r: &Rank) {
    let buffer = r.upload(&[r.rank as f32, 1.0]);
    ok!(nccl, ncclAllReduce(
        buffer => u64, buffer => u64, 2 => usize, 7 => u32, 4 => u32, r.communicator => usize, r.stream => usize
    ));
    let mean = (r.count - 1) as f32 / 2.0;
    assert_eq!(r.download::<f32>(buffer, 2), [mean, 1.0]);
}

/// Splits in even and odd ranks, in reverse order; the last rank of all stays away from a second split.
fn halves(r: &Rank) {
    let mut half = 0_usize;
    let (color, key) = ((r.rank % 2) as i32, -(r.rank as i32));
    ok!(nccl, ncclCommSplit(
        r.communicator => usize, color => i32, key => i32, &mut half => *mut usize, 0 => usize
    ));
    let (mut rank, mut count) = (0, 0);
    ok!(nccl, ncclCommUserRank(half => usize, &mut rank => *mut i32));
    ok!(nccl, ncclCommCount(half => usize, &mut count => *mut i32));
    let members: Vec<usize> = (0..r.count).rev().filter(|m| m % 2 == r.rank % 2).collect();
    assert_eq!(count as usize, members.len());
    assert_eq!(members[rank as usize], r.rank);
    let buffer = r.upload(&[r.rank as i32]);
    ok!(nccl, ncclAllReduce(
        buffer => u64, buffer => u64, 1 => usize, 2 => u32, 0 => u32, half => usize, r.stream => usize
    ));
    assert_eq!(r.download::<i32>(buffer, 1), [members.iter().sum::<usize>() as i32]);

    let mut others = 1_usize;
    let color = if r.rank + 1 == r.count { -1 } else { 0 };
    ok!(nccl, ncclCommSplit(
        r.communicator => usize, color => i32, 0 => i32, &mut others => *mut usize, 0 => usize
    ));
    assert_eq!(others == 0, color == -1);
}

/// A captured all-reduce is formed anew at each launch of its graph.
fn replayed(r: &Rank) {
    let buffer = r.upload(&[1_i64]);
    let (mut graph, mut executable) = (0_usize, 0_usize);
    ok!(cuda, cuStreamBeginCapture_v2(r.stream => usize, 2 => u32));
    ok!(nccl, ncclAllReduce(
        buffer => u64, buffer => u64, 1 => usize, 4 => u32, 0 => u32, r.communicator => usize, r.stream => usize
    ));
    ok!(cuda, cuStreamEndCapture(r.stream => usize, &mut graph => *mut usize));
    ok!(cuda, cuGraphInstantiateWithFlags(
        &mut executable => *mut usize, graph => usize, 0 => u64
    ));
    ok!(cuda, cuGraphDestroy(graph => usize));
    for _ in 0..3 {
        ok!(cuda, cuGraphLaunch(executable => usize, r.stream => usize));
    }
    assert_eq!(r.download::<i64>(buffer, 1), [(r.count as i64).pow(3)]);
    ok!(cuda, cuGraphExecDestroy(executable => usize));
}

/// All ranks as threads of this process, each on its device.
pub(crate) fn on_threads(count: usize) {
    let id = unique_id();
    std::thread::scope(|scope| {
        for rank in 0..count {
            scope.spawn(move || everything(id, rank, count, rank));
        }
    });
}

/// One thread stands for all devices, with groups.
pub(crate) fn on_one_thread(count: usize) {
    let mut handles = vec![0_usize; count];
    ok!(cuda, cuInit(0 => u32));
    let none = std::ptr::null();
    ok!(nccl, ncclCommInitAll(
        handles.as_mut_ptr() => *mut usize, count as i32 => i32, none => *const i32
    ));
    let ranks: Vec<(Rank, u64)> = (0..count)
        .map(|rank| {
            let stream = crate::libraries::device(rank);
            let r = Rank { communicator: handles[rank], stream, rank, count };
            let buffer = r.upload(&[rank as f64]);
            (r, buffer)
        })
        .collect();
    ok!(nccl, ncclGroupStart());
    for (r, buffer) in &ranks {
        ok!(nccl, ncclAllReduce(
            *buffer => u64, *buffer => u64, 1 => usize, 8 => u32, 0 => u32, r.communicator => usize,
            r.stream => usize
        ));
    }
    ok!(nccl, ncclGroupEnd());
    let total = (count * (count - 1) / 2) as f64;
    for (r, buffer) in &ranks {
        let mut context = 0_usize;
        ok!(cuda, cuDevicePrimaryCtxRetain(&mut context => *mut usize, r.rank as i32 => i32));
        ok!(cuda, cuCtxSetCurrent(context => usize));
        assert_eq!(r.download::<f64>(*buffer, 1), [total]);
    }
    // A communicator of the same devices, made in a group by the same thread.
    let id = unique_id();
    ok!(nccl, ncclGroupStart());
    for (rank, handle) in handles.iter_mut().enumerate() {
        let mut context = 0_usize;
        ok!(cuda, cuDevicePrimaryCtxRetain(&mut context => *mut usize, rank as i32 => i32));
        ok!(cuda, cuCtxSetCurrent(context => usize));
        ok!(nccl, ncclCommInitRank(
            handle => *mut usize, count as i32 => i32, id => UniqueId, rank as i32 => i32
        ));
    }
    ok!(nccl, ncclGroupEnd());
    assert_eq!(call!(nccl, ncclCommDestroy(handles[0] => usize)), 0);
}
