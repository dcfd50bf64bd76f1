//! Races between streams: two pieces of work use the same bytes of a device, one of them writes, and nothing orders
//! them. On a GPU the outcome is luck; here it is an error that names both.
//!
//! For each range of bytes the last writer and the readers since are kept, as signals: whether one happened before the
//! other is known from their clocks, whatever order they ran in here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::queue::{Signal, Touched};

/// Who used the bytes from a key up to `end`.
#[derive(Clone, Debug)]
struct Span {
    end: u64,
    writer: Option<Arc<Signal>>,
    /// Readers since, the last of each stream.
    readers: Vec<Arc<Signal>>,
}

/// Two pieces of work that nothing orders.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) message: String,
}

/// The past of one device's memory.
#[derive(Debug, Default)]
pub(crate) struct History {
    spans: BTreeMap<u64, Span>,
}

impl History {
    /// Takes note of what `done` used; gives the first race.
    pub(crate) fn note(&mut self, done: &Arc<Signal>, touched: &Touched) -> Option<Race> {
        let mut race = None;
        for (start, bytes) in &touched.read {
            race = race.or(self.read(*start, start + bytes, done));
        }
        for (start, bytes) in &touched.written {
            race = race.or(self.write(*start, start + bytes, done));
        }
        for (start, bytes) in &touched.freed {
            race = race.or(self.write(*start, start + bytes, done));
            self.forget(*start, *bytes);
        }
        race
    }

    /// Forgets memory that is freed, so that what comes there next has no past.
    pub(crate) fn forget(&mut self, start: u64, bytes: u64) {
        self.cut(start);
        self.cut(start + bytes);
        let keys: Vec<u64> = self.spans.range(start..start + bytes).map(|(key, _)| *key).collect();
        for key in keys {
            self.spans.remove(&key);
        }
    }

    /// Makes `at` a border.
    fn cut(&mut self, at: u64) {
        let Some((start, span)) = self.spans.range_mut(..at).next_back() else { return };
        if span.end > at {
            debug_assert!(*start < at);
            let rest = span.clone();
            span.end = at;
            self.spans.insert(at, rest);
        }
    }

    fn read(&mut self, start: u64, end: u64, done: &Arc<Signal>) -> Option<Race> {
        self.cut(start);
        self.cut(end);
        let mut race = None;
        let mut gaps = Vec::new();
        let mut at = start;
        for (key, span) in self.spans.range_mut(start..end) {
            if *key > at {
                gaps.push((at, *key));
            }
            at = span.end;
            if let Some(writer) = span.writer.as_ref().filter(|w| !are_ordered(w, done)) {
                let found = || describe(done, "reads", writer, "writes", *key, span.end);
                race = race.or_else(|| Some(found()));
            }
            span.readers.retain(|reader| reader.lane != done.lane);
            span.readers.push(done.clone());
        }
        if at < end {
            gaps.push((at, end));
        }
        for (from, to) in gaps {
            self.spans.insert(from, Span { end: to, writer: None, readers: vec![done.clone()] });
        }
        race
    }

    fn write(&mut self, start: u64, end: u64, done: &Arc<Signal>) -> Option<Race> {
        self.cut(start);
        self.cut(end);
        let mut race = None;
        let mut keys = Vec::new();
        for (key, span) in self.spans.range(start..end) {
            keys.push(*key);
            if race.is_some() {
                continue;
            }
            let writer = span.writer.iter().map(|w| (w, "writes"));
            let mut users = writer.chain(span.readers.iter().map(|r| (r, "reads")));
            let found = users.find(|(user, _)| !are_ordered(user, done));
            race = found.map(|(user, does)| describe(done, "writes", user, does, *key, span.end));
        }
        for key in keys {
            self.spans.remove(&key);
        }
        let span = Span { end, writer: Some(done.clone()), readers: Vec::new() };
        self.spans.insert(start, span);
        race
    }
}

/// Whether one of the two happened before the other began, by what the program asked for.
fn are_ordered(a: &Signal, b: &Signal) -> bool {
    a.follows(b) || b.follows(a)
}

fn describe(own: &Signal, does: &str, other: &Signal, did: &str, start: u64, end: u64) -> Race {
    let message = format!(
        "{} (number {} of stream {}) {does} what {} (number {} of stream {}) {did}, {} bytes at {start:#x}, and nothing \
         orders them: an event that one stream records and the other waits for would",
        own.name,
        own.tick,
        own.lane,
        other.name,
        other.tick,
        other.lane,
        end - start
    );
    Race { message }
}
