//! What a rank does for an operation when its stream gets there.
//!
//! Collectives are exchanged whole: every rank sends every other its part, empty where it has none, and waits for all
//! parts, so none is ahead of another. Each message says what its sender is doing; two ranks that do different things
//! at the same place of a communicator are told so, where NCCL would hang or mix up memory.

use std::sync::Arc;

use piper_standin_interface::driver::{self, Order, Range};

use crate::abi::{Code, Failure, Result, Stream};
use crate::communicator::Communicator;
use crate::element::{Element, Reduction, reduce};
use crate::inbox::{Absent, Message, Purpose};
use crate::settings::{Fault, settings};

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    Reduce,
    AllToAll,
    Gather,
    Scatter,
    Send,
    Receive,
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) element: Element,
    pub(crate) reduction: Reduction,
    /// Elements: of a rank's part where parts differ by rank, else of the whole.
    pub(crate) count: u64,
    /// Root or peer.
    pub(crate) other: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Operation {
    fn bytes(&self) -> u64 {
        self.count * self.element.bytes()
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::AllReduce => "all-reduce",
            Kind::AllGather => "all-gather",
            Kind::ReduceScatter => "reduce-scatter",
            Kind::Broadcast => "broadcast",
            Kind::Reduce => "reduce",
            Kind::AllToAll => "all-to-all",
            Kind::Gather => "gather",
            Kind::Scatter => "scatter",
            Kind::Send => "send",
            Kind::Receive => "receive",
        }
    }

    /// How messages name it. Ranks of one collective say the same.
    fn describe(&self) -> String {
        let amount = format!("{} of {} {}", self.name(), self.count, self.element.name());
        match self.kind {
            Kind::AllReduce | Kind::ReduceScatter => format!("{amount} ({:?})", self.reduction),
            Kind::Reduce => format!("{amount} ({:?}) to rank {}", self.reduction, self.other),
            Kind::Gather | Kind::Send => format!("{amount} to rank {}", self.other),
            Kind::Broadcast | Kind::Scatter | Kind::Receive => {
                format!("{amount} from rank {}", self.other)
            }
            Kind::AllGather | Kind::AllToAll => amount,
        }
    }

    fn is_collective(&self) -> bool {
        !matches!(self.kind, Kind::Send | Kind::Receive)
    }

    /// The bytes that rank `own` sends to rank `to`, if there are any.
    fn part_for(&self, own: u32, to: u32) -> Option<Range> {
        let bytes = self.bytes();
        let part = |rank: u32| Range { start: self.from + u64::from(rank) * bytes, bytes };
        if bytes == 0 {
            return None;
        }
        match self.kind {
            Kind::AllReduce | Kind::AllGather => Some(part(0)),
            Kind::ReduceScatter | Kind::AllToAll => Some(part(to)),
            Kind::Broadcast => (own == self.other).then(|| part(0)),
            Kind::Scatter => (own == self.other).then(|| part(to)),
            Kind::Reduce | Kind::Gather => (to == self.other).then(|| part(0)),
            Kind::Send => Some(part(0)),
            Kind::Receive => None,
        }
    }

    /// All that rank `own` of `count` reads and writes.
    fn ranges(&self, own: u32, count: u32) -> (Option<Range>, Option<Range>) {
        let bytes = self.bytes();
        let (n, is_root) = (u64::from(count), own == self.other);
        let (read, written) = match self.kind {
            Kind::AllReduce => (1, 1),
            Kind::AllGather => (1, n),
            Kind::ReduceScatter => (n, 1),
            Kind::AllToAll => (n, n),
            Kind::Broadcast => (u64::from(is_root), 1),
            Kind::Reduce => (1, u64::from(is_root)),
            Kind::Gather => (1, if is_root { n } else { 0 }),
            Kind::Scatter => (if is_root { n } else { 0 }, 1),
            Kind::Send => (1, 0),
            Kind::Receive => (0, 1),
        };
        let range = |start: u64, parts: u64| {
            (parts * bytes > 0).then_some(Range { start, bytes: parts * bytes })
        };
        (range(self.from, read), range(self.to, written))
    }
}

/// The operations of one communicator that begin together.
pub(crate) struct Launch {
    communicator: Arc<Communicator>,
    operations: Vec<Operation>,
}

/// Why a launch ends early.
enum Stop {
    /// Said by the driver.
    Driver(u32),
    Failed(Failure),
    /// The program gave the communicator up: nothing is wrong with the device.
    Aborted,
}

impl From<u32> for Stop {
    fn from(code: u32) -> Self {
        Self::Driver(code)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// `CUDA_ERROR_LAUNCH_TIMEOUT`: what the stream's owner gets when the operation ends without its peers.
const LAUNCH_TIMEOUT: u32 = 702;

impl Launch {
    pub(crate) fn new(communicator: Arc<Communicator>, operations: Vec<Operation>) -> Self {
        Self { communicator, operations }
    }

    /// Puts it onto a stream.
    pub(crate) fn submit(self, stream: Stream, context: usize) -> Result {
        self.communicator.meeting()?;
        let name = match self.operations.as_slice() {
            [one] => format!("nccl {}", one.describe()),
            many => format!("nccl group of {}", many.len()),
        };
        let (rank, count) = (self.communicator.rank, self.communicator.count);
        let ranges: Vec<_> = self.operations.iter().map(|o| o.ranges(rank, count)).collect();
        let read: Vec<Range> = ranges.iter().filter_map(|(read, _)| *read).collect();
        let written: Vec<Range> = ranges.iter().filter_map(|(_, written)| *written).collect();
        driver::within(context, || {
            let work = Box::new(move || self.run());
            driver::submit(stream, Order::Submitted, &name, work, &read, &written)
        })?;
        Ok(())
    }

    /// Does it, on the device's thread; gives zero, or a `CUresult` after it has said what was wrong.
    fn run(&self) -> u32 {
        match self.perform() {
            Ok(()) | Err(Stop::Aborted) => 0,
            Err(Stop::Driver(code)) => code,
            Err(Stop::Failed(failure)) => {
                self.communicator.fail(failure);
                LAUNCH_TIMEOUT
            }
        }
    }

    fn perform(&self) -> std::result::Result<(), Stop> {
        let number = self.communicator.next_operation();
        self.fault(number)?;
        for operation in self.operations.iter().filter(|o| o.is_collective()) {
            self.collective(operation, number)?;
        }
        self.transfers(number)
    }

    /// What was asked for to go wrong: the operation does not end until the program gives the communicator up, as a kernel of
    /// NCCL's does not that has lost its network.
    fn fault(&self, number: u64) -> std::result::Result<(), Stop> {
        let is_here =
            |fault: &Fault| (fault.rank, fault.operation) == (self.communicator.rank, number);
        let Some(fault) = settings().fault.filter(is_here) else { return Ok(()) };
        if fault.is_error {
            let what = "the error that PIPER_STANDIN_NCCL_FAULT asks for";
            let message = self.about(&self.operations[0], number, what);
            self.communicator.fail(Failure::new(Code::REMOTE_ERROR, message));
        }
        while !self.communicator.is_aborted() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Err(Stop::Aborted)
    }

    fn collective(&self, operation: &Operation, number: u64) -> std::result::Result<(), Stop> {
        let own = self.communicator.rank;
        let note = operation.describe().into_bytes();
        let ranks = 0..self.communicator.count;
        for to in ranks.clone().filter(|to| *to != own) {
            let message = Message { note: note.clone(), data: part(operation, own, to)? };
            self.send(to, Purpose::Collective, message, (operation, number))?;
        }
        let mut parts = Vec::with_capacity(ranks.len());
        for from in ranks {
            if from == own {
                parts.push(part(operation, own, own)?);
                continue;
            }
            let message = self.take(from, Purpose::Collective, operation, number)?;
            if message.note != note {
                let theirs = String::from_utf8_lossy(&message.note);
                return Err(self.mismatch(operation, number, from, &theirs).into());
            }
            parts.push(message.data);
        }
        let whole = match operation.kind {
            Kind::AllReduce | Kind::ReduceScatter | Kind::Reduce => {
                let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                reduce(operation.element, operation.reduction, &parts)
            }
            // Whoever has no part here sent none.
            _ => parts.concat(),
        };
        let is_receiver = match operation.kind {
            Kind::Reduce | Kind::Gather => own == operation.other,
            _ => true,
        };
        if is_receiver && !whole.is_empty() {
            driver::write(operation.to, &whole)?;
        }
        Ok(())
    }

    /// Sends and receives: all are under way together, and a send ends when it was received.
    fn transfers(&self, number: u64) -> std::result::Result<(), Stop> {
        let of = |kind: Kind| self.operations.iter().filter(move |o| o.kind == kind);
        for send in of(Kind::Send) {
            let data = part(send, self.communicator.rank, send.other)?;
            let note = send.element.name().as_bytes().to_vec();
            self.send(send.other, Purpose::Send, Message { note, data }, (send, number))?;
        }
        for receive in of(Kind::Receive) {
            let message = self.take(receive.other, Purpose::Send, receive, number)?;
            let is_same = message.note == receive.element.name().as_bytes();
            if message.data.len() as u64 != receive.bytes() || !is_same {
                let element = String::from_utf8_lossy(&message.note);
                let theirs = format!("send of {} bytes of {element}", message.data.len());
                return Err(self.mismatch(receive, number, receive.other, &theirs).into());
            }
            if !message.data.is_empty() {
                driver::write(receive.to, &message.data)?;
            }
            let here = (receive, number);
            self.send(receive.other, Purpose::Received, Message::default(), here)?;
        }
        for send in of(Kind::Send) {
            self.take(send.other, Purpose::Received, send, number)?;
        }
        Ok(())
    }

    fn send(
        &self,
        to: u32,
        purpose: Purpose,
        message: Message,
        (operation, number): (&Operation, u64),
    ) -> Result {
        self.communicator.send(to, purpose, message).map_err(|failure| {
            Failure::new(failure.code, self.about(operation, number, &failure.message))
        })
    }

    fn take(
        &self,
        from: u32,
        purpose: Purpose,
        operation: &Operation,
        number: u64,
    ) -> std::result::Result<Message, Stop> {
        let why = match self.communicator.take(from, purpose) {
            Ok(message) => return Ok(message),
            Err(Absent::Aborted) => return Err(Stop::Aborted),
            Err(Absent::Gone) => format!("the process of rank {from} has ended"),
            Err(Absent::TimedOut) => {
                let seconds = settings().timeout.as_secs_f64();
                format!("waited {seconds} s for rank {from}")
            }
        };
        Err(Failure::new(Code::REMOTE_ERROR, self.about(operation, number, &why)).into())
    }

    fn about(&self, operation: &Operation, number: u64, what: &str) -> String {
        let (who, name) = (self.communicator.name(), operation.describe());
        format!("{who}, launch {number}: {name}: {what}")
    }

    fn mismatch(&self, operation: &Operation, number: u64, from: u32, theirs: &str) -> Failure {
        let what = format!("rank {from} does something else at this place: {theirs}");
        Failure::new(Code::INVALID_USAGE, self.about(operation, number, &what))
    }
}

/// What rank `own` sends to rank `to`.
fn part(operation: &Operation, own: u32, to: u32) -> std::result::Result<Vec<u8>, u32> {
    operation.part_for(own, to).map_or(Ok(Vec::new()), driver::read)
}
