//! What a run cost and counted, in the shape of its pipeline.

use std::time::Duration;

use super::context::add_statistic;

/// What one element of a pipeline cost and counted, all its runs together.
#[derive(Clone, Debug, Default)]
pub struct PassRecord {
    /// The pass, or the anchor of a nested pipeline.
    pub name: String,
    /// Whether it is a nested pipeline.
    pub is_pipeline: bool,
    /// Time that passed. Where threads ran at once, its share of that, by the time it kept them busy.
    pub wall: Duration,
    /// Time spent, all threads together.
    pub busy: Duration,
    /// How many times it ran.
    pub runs: u32,
    /// What it counted, in the order it first did.
    pub statistics: Vec<(&'static str, u64)>,
    /// Analyses computed for it.
    pub analyses: Vec<AnalysisRecord>,
    /// Time spent verifying what it made, all threads together; not part of the pass's own time.
    pub verifying: Duration,
    /// The elements of a nested pipeline.
    pub children: Vec<PassRecord>,
}

/// How often an analysis was computed, and how long that took, all threads together. Part of the pass's time.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AnalysisRecord {
    pub name: &'static str,
    pub busy: Duration,
    pub runs: u32,
}

impl AnalysisRecord {
    pub(super) fn add(
        records: &mut Vec<AnalysisRecord>,
        name: &'static str,
        busy: Duration,
        runs: u32,
    ) {
        match records.iter_mut().find(|record| record.name == name) {
            Some(record) => {
                record.busy += busy;
                record.runs += runs;
            }
            None => records.push(AnalysisRecord { name, busy, runs }),
        }
    }
}

impl PassRecord {
    /// Adds what another thread or run recorded for the same element, but for its wall time.
    pub(super) fn add(&mut self, other: &PassRecord) {
        self.busy += other.busy;
        self.runs += other.runs;
        self.verifying += other.verifying;
        for (name, count) in &other.statistics {
            add_statistic(&mut self.statistics, name, *count);
        }
        for analysis in &other.analyses {
            AnalysisRecord::add(&mut self.analyses, analysis.name, analysis.busy, analysis.runs);
        }
        for (mine, theirs) in self.children.iter_mut().zip(&other.children) {
            mine.add(theirs);
        }
    }

    /// Adds wall times of runs one after the other.
    pub(super) fn add_wall(&mut self, other: &PassRecord) {
        self.wall += other.wall;
        for (mine, theirs) in self.children.iter_mut().zip(&other.children) {
            mine.add_wall(theirs);
        }
    }

    /// Adds wall times of runs at once: to each record its share of the time that passed, by the time it kept threads busy.
    pub(super) fn add_wall_share(&mut self, other: &PassRecord, share: f64) {
        self.wall += other.busy.mul_f64(share);
        for (mine, theirs) in self.children.iter_mut().zip(&other.children) {
            mine.add_wall_share(theirs, share);
        }
    }
}
