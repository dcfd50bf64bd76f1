//! The calls that move data.

use piper_standin_interface::driver;

use crate::abi::{Handle, Result, Stream, refuse};
use crate::communicator::communicator;
use crate::element::{Element, Reduction};
use crate::failure::calls;
use crate::group;
use crate::operation::{Kind, Operation};

/// What a call gives: element type, count, root or peer (zero if there is none), addresses.
struct Given {
    element: u32,
    count: usize,
    other: i32,
    from: u64,
    to: u64,
}

fn call(kind: Kind, given: Given, reduction: u32, handle: Handle, stream: Stream) -> Result {
    check(kind, given, reduction, handle, stream).inspect_err(group::failed)
}

fn check(kind: Kind, given: Given, reduction: u32, handle: Handle, stream: Stream) -> Result {
    let communicator = communicator(handle)?;
    if let Some(failure) = communicator.failure() {
        return Err(failure);
    }
    let other = match u32::try_from(given.other) {
        Ok(other) if other < communicator.count => other,
        _ => return refuse(format!("{}: there is no rank {}", communicator.name(), given.other)),
    };
    let device = driver::device_of(stream)?;
    if device != communicator.device {
        return refuse(format!(
            "{} is on device {}, the stream on device {device}",
            communicator.name(),
            communicator.device
        ));
    }
    let operation = Operation {
        kind,
        element: Element::of(given.element)?,
        reduction: Reduction::of(reduction)?,
        count: given.count as u64,
        other,
        from: given.from,
        to: given.to,
    };
    group::call(communicator, stream, driver::current_context()?, operation)
}

calls! {
    /// The reduction of all, to all.
    fn ncclAllReduce(from: u64, to: u64, count: usize, element: u32, reduction: u32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: 0, from, to };
        call(Kind::AllReduce, given, reduction, handle, stream)
    }

    /// The parts of all, in order of rank, to all; `count` elements each.
    fn ncclAllGather(from: u64, to: u64, count: usize, element: u32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: 0, from, to };
        call(Kind::AllGather, given, 0, handle, stream)
    }

    /// The reduction of all, `count` elements of it to each rank.
    fn ncclReduceScatter(
        from: u64,
        to: u64,
        count: usize,
        element: u32,
        reduction: u32,
        handle: Handle,
        stream: Stream,
    ) {
        let given = Given { element, count, other: 0, from, to };
        call(Kind::ReduceScatter, given, reduction, handle, stream)
    }

    /// The root's, to all.
    fn ncclBroadcast(
        from: u64,
        to: u64,
        count: usize,
        element: u32,
        root: i32,
        handle: Handle,
        stream: Stream,
    ) {
        let given = Given { element, count, other: root, from, to };
        call(Kind::Broadcast, given, 0, handle, stream)
    }

    /// The root's, to all, in place.
    fn ncclBcast(buffer: u64, count: usize, element: u32, root: i32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: root, from: buffer, to: buffer };
        call(Kind::Broadcast, given, 0, handle, stream)
    }

    /// The reduction of all, to the root.
    fn ncclReduce(
        from: u64,
        to: u64,
        count: usize,
        element: u32,
        reduction: u32,
        root: i32,
        handle: Handle,
        stream: Stream,
    ) {
        let given = Given { element, count, other: root, from, to };
        call(Kind::Reduce, given, reduction, handle, stream)
    }

    /// Part `j` of rank `i` becomes part `i` of rank `j`; `count` elements each.
    fn ncclAlltoAll(from: u64, to: u64, count: usize, element: u32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: 0, from, to };
        call(Kind::AllToAll, given, 0, handle, stream)
    }

    /// The parts of all, in order of rank, to the root.
    fn ncclGather(
        from: u64,
        to: u64,
        count: usize,
        element: u32,
        root: i32,
        handle: Handle,
        stream: Stream,
    ) {
        let given = Given { element, count, other: root, from, to };
        call(Kind::Gather, given, 0, handle, stream)
    }

    /// Part `j` of the root's, to rank `j`.
    fn ncclScatter(
        from: u64,
        to: u64,
        count: usize,
        element: u32,
        root: i32,
        handle: Handle,
        stream: Stream,
    ) {
        let given = Given { element, count, other: root, from, to };
        call(Kind::Scatter, given, 0, handle, stream)
    }

    /// To one rank, which receives.
    fn ncclSend(from: u64, count: usize, element: u32, peer: i32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: peer, from, to: 0 };
        call(Kind::Send, given, 0, handle, stream)
    }

    /// From one rank, which sends.
    fn ncclRecv(to: u64, count: usize, element: u32, peer: i32, handle: Handle, stream: Stream) {
        let given = Given { element, count, other: peer, from: 0, to };
        call(Kind::Receive, given, 0, handle, stream)
    }
}
