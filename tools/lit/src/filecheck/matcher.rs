//! The matching algorithm: label blocks first, then each block's directives in order.

use super::directive::{Check, Directive, Kind};
use super::pattern::{Found, Variables};

/// Why a check failed, with byte ranges into the (canonical) input.
#[derive(Debug)]
pub(crate) struct Mismatch<'a> {
    pub(crate) directive: &'a Directive,
    pub(crate) reason: Reason,
    /// Where the search began and ended.
    pub(crate) searched: (usize, usize),
    /// Variables as they stood.
    pub(crate) variables: Variables,
}

#[derive(Debug)]
pub(crate) enum Reason {
    NotFound {
        matched_before: u32,
    },
    /// Found, but in a place the directive's kind forbids.
    Misplaced {
        message: &'static str,
        found: Found,
        previous_end: usize,
    },
    Excluded(Found),
    Broken(String),
}

/// Runs all checks over `input`; empty means success.
pub(crate) fn run_checks<'a>(
    checks: &'a [Check],
    input: &str,
    variables: Variables,
    scope_by_label: bool,
) -> Vec<Mismatch<'a>> {
    let mut run = Run { input, variables, failures: Vec::new() };
    let (mut done, mut label, mut block_start) = (0, 0, 0);
    loop {
        let mut block_end = input.len();
        let mut next_start = input.len();
        while label < checks.len() && checks[label].main.kind != Kind::Label {
            label += 1;
        }
        let has_label = label < checks.len();
        if has_label {
            // The whole rest is searched for the label alone; -NOT and -DAG before it wait for the block's own pass.
            let directive = &checks[label].main;
            match run.find(directive, block_start, input.len(), 0) {
                Some(found) => (block_end, next_start) = (found.end, found.end),
                None => break,
            }
            label += 1;
        }
        if done != 0 && scope_by_label {
            run.variables.clear_local();
        }
        let mut at = block_start;
        for check in &checks[done..label] {
            match run.check(check, at, block_end) {
                Some(end) => at = end,
                None => break,
            }
        }
        done = label;
        block_start = next_start;
        if !has_label {
            break;
        }
    }
    run.failures
}

struct Run<'i, 'a> {
    input: &'i str,
    variables: Variables,
    failures: Vec<Mismatch<'a>>,
}

impl<'a> Run<'_, 'a> {
    fn fail(&mut self, directive: &'a Directive, searched: (usize, usize), reason: Reason) {
        let variables = self.variables.clone();
        self.failures.push(Mismatch { directive, reason, searched, variables });
    }

    /// Finds one match, absolute in the input; a failure is recorded.
    fn find(
        &mut self,
        directive: &'a Directive,
        start: usize,
        end: usize,
        matched_before: u32,
    ) -> Option<Found> {
        match directive.pattern.find(&self.input[start..end], &mut self.variables) {
            Ok(Some(found)) => {
                return Some(Found { start: start + found.start, end: start + found.end });
            }
            Ok(None) => self.fail(directive, (start, end), Reason::NotFound { matched_before }),
            Err(message) => self.fail(directive, (start, end), Reason::Broken(message)),
        }
        None
    }

    /// One check with what stands before it, in `input[start..end]`; gives where the next search begins.
    fn check(&mut self, check: &'a Check, start: usize, end: usize) -> Option<usize> {
        let mut excluded = Vec::new();
        let after_dags = self.dags(&check.before, start, end, &mut excluded)?;
        let count = if let Kind::Plain(n) = check.main.kind { n } else { 1 };
        let mut first = None;
        let mut at = after_dags;
        for matched in 0..count {
            let found = self.find(&check.main, at, end, matched)?;
            first.get_or_insert(found);
            at = found.end;
        }
        let first = first?;
        self.placed(&check.main, after_dags, first)?;
        self.none_of(&excluded, after_dags, first.start)?;
        Some(at)
    }

    fn placed(
        &mut self,
        directive: &'a Directive,
        previous_end: usize,
        found: Found,
    ) -> Option<()> {
        let newlines = self.input[previous_end..found.start].matches('\n').count();
        let message = match (directive.kind, newlines) {
            (Kind::Next | Kind::Empty, 0) => "is on the same line as previous match",
            (Kind::Next | Kind::Empty, 2..) => "is not on the line after the previous match",
            (Kind::Same, 1..) => "is not on the same line as the previous match",
            _ => return Some(()),
        };
        self.fail(
            directive,
            (previous_end, found.end),
            Reason::Misplaced { message, found, previous_end },
        );
        None
    }

    fn none_of(&mut self, excluded: &[&'a Directive], start: usize, end: usize) -> Option<()> {
        let mut clean = Some(());
        for directive in excluded {
            let reason = match directive.pattern.find(&self.input[start..end], &mut self.variables)
            {
                Ok(None) => continue,
                Ok(Some(found)) => {
                    Reason::Excluded(Found { start: start + found.start, end: start + found.end })
                }
                Err(message) => Reason::Broken(message),
            };
            self.fail(directive, (start, end), reason);
            clean = None;
        }
        clean
    }

    /// Matches groups of `-DAG` directives in any order without overlap; leaves trailing `-NOT`s in `excluded`.
    fn dags(
        &mut self,
        before: &'a [Directive],
        mut start: usize,
        end: usize,
        excluded: &mut Vec<&'a Directive>,
    ) -> Option<usize> {
        let mut group: Vec<Found> = Vec::new();
        for (index, directive) in before.iter().enumerate() {
            if directive.kind == Kind::Not {
                excluded.push(directive);
                continue;
            }
            let mut from = start;
            let found = loop {
                let found = self.find(directive, from, end, 0)?;
                match group.iter().find(|old| found.start < old.end && old.start < found.end) {
                    Some(old) => from = old.end,
                    None => break found,
                }
            };
            group.push(found);
            let group_ends = before.get(index + 1).is_none_or(|next| next.kind == Kind::Not);
            if group_ends {
                let first = group.iter().map(|f| f.start).min()?;
                let last = group.iter().map(|f| f.end).max()?;
                let ready = std::mem::take(excluded);
                self.none_of(&ready, start, first)?;
                start = last;
                group.clear();
            }
        }
        Some(start)
    }
}
