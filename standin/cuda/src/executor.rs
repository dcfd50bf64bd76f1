//! The thread that does a device's work, one piece at a time.
//!
//! A GPU promises no progress of one stream while another waits, so the most that a program may count on is one piece
//! after the other. Without a seed that is the order of submission among what is ready. With one, the thread lets the
//! program run ahead until somebody waits, and then takes any piece that is ready: a wait that was forgotten shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::abi::Code;
use crate::device::Device;
use crate::error::Fault;
use crate::history::Race;
use crate::queue::{Item, Line, Order, Touched, lock, wait_for_work};
use crate::settings::settings;

/// How long nothing must have been submitted before a seeded thread begins although nobody waits.
const QUIET: Duration = Duration::from_millis(2);
/// How many pieces may wait before a seeded thread begins.
const PATIENCE: usize = 1024;

/// A small generator of numbers (xorshift64*, Vigna 2016).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// Starts the thread of a device.
pub(crate) fn start(device: Arc<Device>) {
    let name = format!("standin {}", device.ordinal);
    let started = std::thread::Builder::new().name(name).spawn(move || run(&device));
    if let Err(error) = started {
        eprintln!("standin: no thread for a device: {error}");
        std::process::exit(1);
    }
}

fn run(device: &Device) {
    let mut dice = settings().seed.map(|seed| Dice::new(seed ^ (device.ordinal as u64) << 48));
    let mut queues = lock();
    loop {
        let line = queues.line(device.ordinal);
        let ready = ready(line, if dice.is_some() { PATIENCE } else { 1 });
        if ready.is_empty() {
            line.is_asked = false;
            queues = wait_for_work(queues, device.ordinal, None);
            continue;
        }
        if dice.is_some() && !line.is_asked && line.items.len() < PATIENCE && queues.waiting == 0 {
            let before = queues.line(device.ordinal).submitted;
            queues = wait_for_work(queues, device.ordinal, Some(QUIET));
            if queues.line(device.ordinal).submitted != before || queues.waiting > 0 {
                continue;
            }
        }
        let line = queues.line(device.ordinal);
        let chosen = dice.as_mut().map_or(ready[0], |dice| ready[dice.below(ready.len())]);
        let Some(item) = line.items.remove(chosen) else { continue };
        let failed = line.error.is_some();
        line.running = Some(item.done.clone());
        drop(queues);
        let begin = Instant::now();
        let outcome = if failed { Ok(()) } else { perform(device, &item) };
        if settings().log_work && item.task.work.is_some() {
            let (name, lane, tick) = (&item.task.name, item.done.lane, item.done.tick);
            let word = if failed { "left out" } else { "done" };
            let time = begin.elapsed().as_micros();
            eprintln!(
                "standin: device {}, stream {lane}, number {tick}: {name}: {word} in {time} us",
                device.ordinal
            );
        }
        queues = lock();
        if let Err(fault) = outcome {
            eprintln!("standin: device {}: {}: {}", device.ordinal, item.task.name, fault.message);
            queues.line(device.ordinal).error.get_or_insert(fault.code);
        }
        queues.line(device.ordinal).running = None;
        queues.finish(&item.done);
    }
}

/// Places in the queue of what may start, at most so many.
fn ready(line: &Line, most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_blocked = false;
    for (at, item) in line.items.iter().enumerate().take(PATIENCE) {
        let is_ordered = item.task.order == Order::Submitted;
        if item.is_ready() && !(is_ordered && is_blocked) {
            found.push(at);
            if found.len() == most {
                break;
            }
        }
        is_blocked |= is_ordered;
    }
    found
}

fn perform(device: &Device, item: &Item) -> Result<(), Fault> {
    let Some(work) = &item.task.work else { return Ok(()) };
    let mut touched = Touched::default();
    work(device, &mut touched)?;
    if !settings().checks.streams {
        return Ok(());
    }
    match device.note(&item.done, &touched) {
        None => Ok(()),
        Some(Race { message }) => Err(Fault { code: Code::LAUNCH_FAILED, message }),
    }
}
