//! When each instruction ran: events on its stream before and after it.
//!
//! All times of a step are counted from an event at its head, one for each context, which is recorded while nothing else is under way;
//! the host notes its own time then. So the clocks of devices agree to within the time that a launch takes.

#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use piper_runtime::trace::Span;

use crate::device::{Device, Event};
use crate::error::CudaError;
use crate::resolve::Op;
use crate::worker::stream;

/// Events around one instruction.
struct Mark {
    instr: u32,
    /// Operations.
    first: usize,
    last: usize,
    stream: usize,
    begin: Event,
    end: Event,
}

/// What is recorded of a device.
pub(crate) struct Recorder {
    marks: Vec<Mark>,
    /// By context: the first of its streams, the event at the head of the step, and the host's time of that.
    heads: Vec<(usize, Event, Duration)>,
}

/// The operations of each instruction that takes time: instruction, first and last operation. Waits that were put before an
/// instruction, and the event behind it, are not part of it.
fn parts(ops: &[Op], instrs: &[u32]) -> Vec<(u32, usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < ops.len() {
        let end = at + instrs[at..].iter().take_while(|instr| **instr == instrs[at]).count();
        let is_work = |op: &Op| !matches!(op, Op::Wait { .. } | Op::Record { .. });
        let mut work = (at..end).filter(|op| is_work(&ops[*op]));
        let mut wait = (at..end).filter(|op| matches!(ops[*op], Op::Wait { .. }));
        let (first, last) = (work.clone().next(), work.next_back());
        let part = first.zip(last).or_else(|| wait.next_back().map(|wait| (wait, wait)));
        found.extend(part.map(|(first, last)| (instrs[at], first, last)));
        at = end;
    }
    found
}

impl Recorder {
    /// Events for all that a device issues in a step.
    pub(crate) fn of(device: &Device, ops: &[Op], instrs: &[u32]) -> Result<Self, CudaError> {
        let mut marks = Vec::new();
        for (instr, first, last) in parts(ops, instrs) {
            let stream = stream(&ops[first]);
            let event = || device.timed_event(&device.streams[stream]);
            marks.push(Mark { instr, first, last, stream, begin: event()?, end: event()? });
        }
        let mut heads: Vec<(usize, Event, Duration)> = Vec::new();
        for (at, stream) in device.streams.iter().enumerate() {
            if heads.iter().all(|(of, ..)| device.streams[*of].context != stream.context) {
                heads.push((at, device.timed_event(stream)?, Duration::ZERO));
            }
        }
        device.enter_primary()?;
        Ok(Self { marks, heads })
    }

    /// Begins a step, while the device is idle.
    pub(crate) fn begin(&mut self, device: &Device, epoch: Instant) -> Result<(), String> {
        for (stream, event, time) in &mut self.heads {
            *time = epoch.elapsed();
            record(device, event, *stream)?;
        }
        Ok(())
    }

    /// Records what belongs before or, if `is_after`, behind an operation. `next` is where to look in the list of instructions.
    pub(crate) fn around(
        &self,
        device: &Device,
        op: usize,
        next: &mut usize,
        is_after: bool,
    ) -> Result<(), String> {
        let Some(mark) = self.marks.get(*next) else { return Ok(()) };
        if !is_after && mark.first == op {
            record(device, &mark.begin, mark.stream)?;
        }
        if is_after && mark.last == op {
            *next += 1;
            record(device, &mark.end, mark.stream)?;
        }
        Ok(())
    }

    /// What was recorded in a step that is over.
    pub(crate) fn spans(&self, device: &Device, step: u64) -> Result<Vec<Span>, CudaError> {
        let mut spans = Vec::with_capacity(self.marks.len());
        for mark in &self.marks {
            let context = device.streams[mark.stream].context;
            let head = self.heads.iter().find(|(of, ..)| device.streams[*of].context == context);
            let Some((_, head, time)) = head else { continue };
            device.enter(context)?;
            let from = *time + between(device, head, &mark.begin)?;
            let lasted = between(device, &mark.begin, &mark.end)?;
            spans.push(Span { instr: mark.instr, step, from, lasted });
        }
        device.enter_primary()?;
        Ok(spans)
    }
}

fn record(device: &Device, event: &Event, stream: usize) -> Result<(), String> {
    let stream = &device.streams[stream];
    if device.is_divided() {
        device.enter(stream.context).map_err(|error| error.to_string())?;
    }
    // SAFETY: an event and a stream of one context of this device.
    let code = unsafe { (device.driver.api.cuEventRecord)(event.raw, stream.raw) };
    if code == 0 { Ok(()) } else { Err(device.driver.describe(code)) }
}

fn between(device: &Device, from: &Event, to: &Event) -> Result<Duration, CudaError> {
    let mut milliseconds = 0f32;
    // SAFETY: two events of this device that were recorded and have passed.
    let code =
        unsafe { (device.driver.api.cuEventElapsedTime)(&raw mut milliseconds, from.raw, to.raw) };
    device.driver.check("asking for the time between two events", code)?;
    Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_timed_without_what_was_put_around_it() {
        let (wait, record) =
            (|| Op::Wait { event: 0, stream: 0 }, || Op::Record { event: 0, stream: 0 });
        let copy = || Op::Copy { from: 0, to: 0, bytes: 4, stream: 0 };
        let ops = [wait(), copy(), copy(), record(), record(), wait(), copy()];
        let found = parts(&ops, &[0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(found, [(0, 1, 2), (2, 5, 5), (3, 6, 6)]);
    }
}
