//! Peak memory against a limit, and what is to blame.
//!
//! A plan needs its arena and workspace. If that is more than allowed, it matters whether another layout could do with
//! less: bytes are *live* from the instruction that writes them to the last one that reads them, persistent ones always,
//! and what is live at once, in order of issue, is less than no layout can take. The largest buffers of that moment are
//! named, with the first and last instruction that need them.

use super::access;
use super::memory::Segments;
use super::{Fault, FaultKind, Options};
use crate::schema::*;

/// Buffers named in a message.
const NAMED: usize = 5;

/// Instructions during which the bytes of a segment hold a value: the first and the last.
#[derive(Clone, Copy)]
struct Life {
    segment: u32,
    first: u32,
    last: u32,
}

pub(super) fn check(
    plan: &Plan,
    id: ProgramId,
    segments: &Segments,
    options: &Options,
) -> Option<Fault> {
    let program = &plan.programs[id.index()];
    let need = program.arena_bytes.saturating_add(program.workspace_bytes);
    let limit = options.peak_bytes.filter(|&limit| need > limit)?;
    let lives = lives(plan, program, segments);
    let (moment, live) = peak(program, segments, &lives);
    let least = live.saturating_add(program.workspace_bytes);
    let name = &program.name;
    let what = format!(
        "@{name} needs {need} bytes a device ({} of arena, {} of workspace), the limit is {limit}",
        program.arena_bytes, program.workspace_bytes
    );
    let why = if least > limit {
        format!("no layout can do with less than {least}, which are in use at once")
    } else {
        format!("{least} are in use at once, so a tighter layout might do")
    };
    let mut fault = Fault::new(FaultKind::Memory, format!("{what}; {why}"));
    if program.instrs.get(moment as usize).is_some() {
        fault = fault.at(plan, id, moment as usize, format!("{live} bytes of buffers are in use"));
    }
    for (buffer, first, last) in largest(program, segments, &lives, moment) {
        let Buffer { name, persistent, .. } = program.buffer(buffer);
        let bytes = program.buffer(buffer).bytes();
        if *persistent {
            let role =
                format!("buffer {name} of {bytes} bytes, which is kept between steps, is used");
            fault = fault.at(plan, id, first as usize, role);
            continue;
        }
        fault = fault
            .at(
                plan,
                id,
                first as usize,
                format!("buffer {name} of {bytes} bytes is needed from here"),
            )
            .at(plan, id, last as usize, "to here".to_owned());
    }
    Some(fault)
}

/// When each segment holds something.
fn lives(plan: &Plan, program: &Program, segments: &Segments) -> Vec<Life> {
    let last = program.instrs.len().saturating_sub(1) as u32;
    let mut open: Vec<Option<Life>> = vec![None; segments.count()];
    let mut closed = Vec::new();
    let mut accesses = Vec::new();
    for (i, instr) in (0u32..).zip(&program.instrs) {
        accesses.clear();
        access::of(&instr.kind, &plan.kernels, &mut accesses);
        // Reads come first, so that a value overwritten by its last reader is two lives.
        for access in accesses.iter().filter(|a| a.reads()) {
            for segment in segments.span(access.buffer) {
                let life = Life { segment: segment as u32, first: i, last: i };
                open[segment].get_or_insert(life).last = i;
            }
        }
        for access in accesses.iter().filter(|a| !a.reads()) {
            for segment in segments.span(access.buffer) {
                let life = Life { segment: segment as u32, first: i, last: i };
                closed.extend(open[segment].replace(life));
            }
        }
    }
    let mut is_kept = vec![false; segments.count()];
    for (at, _) in program.buffers.iter().enumerate().filter(|(_, b)| b.persistent) {
        is_kept[segments.span(BufferId(at as u32))].fill(true);
    }
    closed.retain(|life| !is_kept[life.segment as usize]);
    for (segment, _) in is_kept.iter().enumerate().filter(|(_, kept)| **kept) {
        open[segment] = Some(Life { segment: segment as u32, first: 0, last });
    }
    closed.extend(open.into_iter().flatten());
    closed
}

/// The instruction during which most bytes are live, and how many.
fn peak(program: &Program, segments: &Segments, lives: &[Life]) -> (u32, u64) {
    let mut change = vec![0i128; program.instrs.len() + 2];
    for life in lives {
        let segment = life.segment as usize;
        let bytes = i128::from(segments.cuts[segment + 1] - segments.cuts[segment]);
        change[life.first as usize] += bytes;
        change[life.last as usize + 1] -= bytes;
    }
    let (mut live, mut most) = (0, (0, 0));
    for (at, change) in (0u32..).zip(&change) {
        live += change;
        if live > most.1 {
            most = (at, live);
        }
    }
    (most.0, u64::try_from(most.1).unwrap_or(u64::MAX))
}

/// The largest buffers live at a moment, none a part of another, with the instructions between which they are.
fn largest(
    program: &Program,
    segments: &Segments,
    lives: &[Life],
    moment: u32,
) -> Vec<(BufferId, u32, u32)> {
    let mut now: Vec<Option<Life>> = vec![None; segments.count()];
    for life in lives.iter().filter(|l| l.first <= moment && moment <= l.last) {
        now[life.segment as usize] = Some(*life);
    }
    let mut found: Vec<(BufferId, u32, u32)> = Vec::new();
    let mut buffers: Vec<BufferId> = (0..program.buffers.len() as u32).map(BufferId).collect();
    buffers.sort_by_key(|b| std::cmp::Reverse(program.buffer(*b).bytes()));
    for buffer in buffers {
        let span = segments.span(buffer);
        let overlaps = |other: &(BufferId, u32, u32)| {
            let other = segments.span(other.0);
            span.start < other.end && other.start < span.end
        };
        if found.iter().any(overlaps) {
            continue;
        }
        let Some(parts) = now[span.clone()].iter().copied().collect::<Option<Vec<Life>>>() else {
            continue;
        };
        let first = parts.iter().map(|l| l.first).min();
        let last = parts.iter().map(|l| l.last).max();
        found.extend(first.zip(last).map(|(first, last)| (buffer, first, last)));
        if found.len() == NAMED {
            break;
        }
    }
    found
}
