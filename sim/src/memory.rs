//! Bytes alive over time.
//!
//! A value is alive from the start of the instruction that writes its buffer to the end of the last that reads it before it is
//! written anew; parameters and states always. Buffers may be views of others, so bytes are counted where they lie: the arena
//! is cut at every buffer's bounds, and a piece counts while any value in it is alive.

use piper_plan::verify::access;
use piper_plan::{BufferId, Mode, Plan, Program};

use crate::Span;

/// Memory of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Most bytes alive at one time.
    pub peak: u64,
    /// Bytes that are always alive.
    pub persistent: u64,
    /// Bytes of the arena, as planned.
    pub arena: u64,
    /// Bytes of kernel workspace beside it.
    pub workspace: u64,
    /// From each time on, so many bytes are alive.
    pub curve: Vec<(f64, u64)>,
}

/// A value's life.
struct Life {
    buffer: BufferId,
    from: f64,
    to: f64,
}

pub(crate) fn of(plan: &Plan, program: &Program, spans: &[Span]) -> Memory {
    let mut cuts: Vec<u64> =
        program.buffers.iter().flat_map(|b| [b.offset, b.offset + b.bytes()]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let span_of = |buffer: &piper_plan::Buffer| {
        let at = |byte: u64| cuts.partition_point(|c| *c < byte);
        at(buffer.offset)..at(buffer.offset + buffer.bytes())
    };
    let places: Vec<std::ops::Range<usize>> = program.buffers.iter().map(span_of).collect();
    let mut alive = vec![0u32; cuts.len().saturating_sub(1)];
    let (mut bytes, mut persistent) = (0, 0);
    for (_, place) in program.buffers.iter().zip(&places).filter(|(b, _)| b.persistent) {
        for piece in place.clone() {
            alive[piece] += 1;
            if alive[piece] == 1 {
                persistent += cuts[piece + 1] - cuts[piece];
            }
        }
    }
    bytes += persistent;
    // Births after deaths at the same instant: what ended has made room.
    let mut events: Vec<(f64, bool, BufferId)> = Vec::new();
    for life in lives(plan, program, spans) {
        events.push((life.from, true, life.buffer));
        events.push((life.to, false, life.buffer));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut memory = Memory {
        peak: bytes,
        persistent,
        arena: program.arena_bytes,
        workspace: program.workspace_bytes,
        curve: vec![(0.0, bytes)],
    };
    for (time, is_birth, buffer) in events {
        for piece in places[buffer.index()].clone() {
            let size = cuts[piece + 1] - cuts[piece];
            if is_birth {
                alive[piece] += 1;
                bytes += if alive[piece] == 1 { size } else { 0 };
            } else {
                alive[piece] -= 1;
                bytes -= if alive[piece] == 0 { size } else { 0 };
            }
        }
        match memory.curve.last_mut() {
            Some(last) if last.0 == time => last.1 = bytes,
            Some(last) if last.1 == bytes => {}
            _ => memory.curve.push((time, bytes)),
        }
    }
    memory.peak = memory.curve.iter().map(|p| p.1).max().unwrap_or(0);
    memory
}

fn lives(plan: &Plan, program: &Program, spans: &[Span]) -> Vec<Life> {
    let mut open: Vec<Option<(f64, f64)>> = vec![None; program.buffers.len()];
    let mut lives = Vec::new();
    let mut accesses = Vec::new();
    for (instr, span) in program.instrs.iter().zip(spans) {
        accesses.clear();
        access::of(&instr.kind, &plan.kernels, &mut accesses);
        for access in &accesses {
            if program.buffer(access.buffer).persistent {
                continue;
            }
            let place = &mut open[access.buffer.index()];
            match place {
                Some((_, to)) if access.mode != Mode::Write => *to = to.max(span.end),
                _ => {
                    if let Some((from, to)) = place.replace((span.start, span.end)) {
                        lives.push(Life { buffer: access.buffer, from, to });
                    }
                }
            }
        }
    }
    for (at, place) in open.into_iter().enumerate() {
        if let Some((from, to)) = place {
            lives.push(Life { buffer: BufferId(at as u32), from, to });
        }
    }
    // What takes no time is never seen.
    lives.retain(|life| life.to > life.from);
    lives
}
