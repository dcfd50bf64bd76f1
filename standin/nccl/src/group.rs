//! Groups: what is called between `ncclGroupStart` and `ncclGroupEnd` begins together.

use std::cell::RefCell;
use std::sync::Arc;

use crate::abi::{Code, Failure, Result, Stream};
use crate::communicator::Communicator;
use crate::failure::calls;
use crate::operation::{Launch, Operation};

/// Something that waits for other ranks on the host.
type Meeting = Box<dyn FnOnce() -> Result + Send>;

/// An operation that was called.
struct Called {
    communicator: Arc<Communicator>,
    stream: Stream,
    context: usize,
    operation: Operation,
}

#[derive(Default)]
struct Group {
    depth: usize,
    meetings: Vec<Meeting>,
    called: Vec<Called>,
    /// The first call that failed; the group does nothing then.
    failure: Option<Failure>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Meets other ranks, when the group ends if there is one.
pub(crate) fn meet_later(meeting: Meeting) -> Result {
    let now = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Some(meeting);
        }
        group.meetings.push(meeting);
        None
    });
    now.map_or(Ok(()), |meeting| meeting())
}

/// Launches an operation, when the group ends if there is one.
pub(crate) fn call(
    communicator: Arc<Communicator>,
    stream: Stream,
    context: usize,
    operation: Operation,
) -> Result {
    let called = Called { communicator, stream, context, operation };
    let now = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Some(called);
        }
        group.called.push(called);
        None
    });
    now.map_or(Ok(()), |called| launch(vec![called]))
}

/// Notes that a call of a group failed.
pub(crate) fn failed(failure: &Failure) {
    GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.failure.get_or_insert_with(|| failure.clone());
        }
    });
}

/// One launch a communicator, in the order in which they were first called.
fn launch(mut called: Vec<Called>) -> Result {
    while !called.is_empty() {
        let first = called[0].communicator.clone();
        let (own, others): (Vec<_>, Vec<_>) =
            called.into_iter().partition(|c| Arc::ptr_eq(&c.communicator, &first));
        called = others;
        let (stream, context) = (own[0].stream, own[0].context);
        if own.iter().any(|c| c.stream != stream) {
            let message = format!("{}: a group on two streams is not supported", first.name());
            return Err(Failure::new(Code::INVALID_USAGE, message));
        }
        Launch::new(first, own.into_iter().map(|c| c.operation).collect())
            .submit(stream, context)?;
    }
    Ok(())
}

/// Runs all at the same time: one thread may stand for several ranks.
fn meet(meetings: Vec<Meeting>) -> Result {
    let threads: Vec<_> = meetings.into_iter().map(std::thread::spawn).collect();
    let outcomes = threads.into_iter().map(|thread| {
        let panicked = |_| Err(Failure::new(Code(3), "a rank's thread failed"));
        thread.join().unwrap_or_else(panicked)
    });
    outcomes.collect::<Vec<_>>().into_iter().collect()
}

calls! {
    /// Begins a group, within another or not.
    fn ncclGroupStart() {
        GROUP.with_borrow_mut(|group| group.depth += 1);
        Ok(())
    }

    /// Ends it; with the outermost everything begins.
    fn ncclGroupEnd() {
        let ended = GROUP.with_borrow_mut(|group| match group.depth {
            0 => Err(Failure::new(Code::INVALID_USAGE, "no group has begun")),
            1 => Ok(Some(std::mem::take(group))),
            _ => {
                group.depth -= 1;
                Ok(None)
            }
        })?;
        let Some(group) = ended else { return Ok(()) };
        match group.failure {
            Some(failure) => Err(failure),
            None => meet(group.meetings).and_then(|()| launch(group.called)),
        }
    }
}
