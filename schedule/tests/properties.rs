//! What holds for every configuration a schedule accepts, not only for those with vectors.

use piper_schedule::generate::p2p_batches;
use piper_schedule::lower::{Lowering, Op, Program, Transport, lower, merge_bw};
use piper_schedule::text::{filter::Filter, layout, order, pipeline::Pipeline};
use piper_schedule::{Config, Costs, Table, generate, generate::SCHEDULES, torch_csv};
use proptest::prelude::*;

/// Any schedule with any small configuration; most are accepted, the others must say why not.
fn any_config() -> impl Strategy<Value = (&'static str, Config)> {
    let written = SCHEDULES.iter().filter(|schedule| !schedule.is_searched());
    let names = proptest::sample::select(written.map(|s| s.name).collect::<Vec<_>>());
    (
        names,
        1u32..9,
        1u32..5,
        1u32..40,
        proptest::option::of(1u32..12),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(name, p, v, m, group, overlap, fitting)| {
            let v = match name {
                "gpipe" | "1f1b" | "zb_h1" | "zb_h2" if fitting => 1,
                "zbv" | "dualpipe" | "dualpipev" if fitting => 2,
                _ => v,
            };
            let mut config = Config::new(p, v, m);
            if name == "interleaved1f1b" {
                config.group = group;
                config.overlap = overlap;
            }
            (name, config)
        })
}

/// F, I, W at which the published idle times were stated to hold.
const COSTS: [(u64, u64, u64); 4] = [(1, 1, 1), (2, 3, 2), (3, 2, 2), (4, 5, 3)];

/// Most idle time of a rank as the source of the schedule states it, where the statement is exact; else none.
fn published_idle(name: &str, config: &Config, (f, i, w): (u64, u64, u64)) -> Option<u64> {
    let (p, m) = (u64::from(config.ranks), u64::from(config.microbatches));
    let plain = config.group.is_none() && !config.overlap && m >= p;
    match name {
        "gpipe" | "1f1b" | "interleaved1f1b" | "looped_bfs" if plain => Some((p - 1) * (f + i + w)),
        "zb_h1" | "interleaved_zb" if plain => Some((p - 1) * (f + i - w)),
        "zb_h2" if f + i >= 2 * w => Some((p - 1) * f),
        "zbv" if f == i && i == w && m >= 2 * p - 1 => Some((p - 1) * f),
        // Stated as (P/2-1)(F&B+B-3W) for I = F; for I < F replay gives F in the place of the second B's I.
        "dualpipe" if i <= f => Some((p / 2 - 1) * ((f + i + w) + f - 2 * w)),
        "dualpipev" if i <= f => Some((p - 1) * ((f + i + w) + f - 2 * w)),
        _ => None,
    }
}

/// Largest count of live activations per rank as the source states it, in chunks, never more than there are.
fn published_peak(name: &str, config: &Config, r: u32) -> Option<u32> {
    let Config { ranks: p, stages_per_rank: v, microbatches: m, .. } = *config;
    let n = config.group.unwrap_or(m / (m / p).max(1));
    let peak = match name {
        _ if m < p => return None,
        "gpipe" => m,
        "1f1b" => m.min(p - r),
        "interleaved1f1b" => (v - 1) * n + 2 * (p - 1 - r) + 1 + u32::from(config.overlap),
        "looped_bfs" => v * m,
        "zb_h1" | "interleaved_zb" => (v - 1) * n + p,
        "zb_h2" => 2 * p - 1,
        "zbv" if m >= 2 * p - 1 => 2 * p,
        "dualpipe" => p + 1,
        "dualpipev" => 2 * p + 1,
        _ => return None,
    };
    Some(peak.min(v * m))
}

/// The order of two actions that stand next to each other, or in one slot, turned round.
fn swapped(table: &Table, rank: usize, slot: usize) -> Table {
    let mut table = table.clone();
    let rank = rank % table.ranks.len();
    let row = &mut table.ranks[rank];
    if row.len() > 1 {
        let slot = slot % (row.len() - 1);
        row.swap(slot, slot + 1);
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_accepted_is_complete_and_never_hangs((name, config) in any_config()) {
        match generate(name, &config) {
            Ok(table) => {
                if let Err(problems) = table.check() {
                    return Err(TestCaseError::fail(format!("{name} {config:?}: {problems}")));
                }
                prop_assert_eq!(table.ranks.len(), config.ranks as usize);
            }
            Err(rejected) => prop_assert!(!rejected.reason.is_empty() && !rejected.is_unknown_name()),
        }
    }

    #[test]
    fn idle_times_and_peaks_are_those_published((name, config) in any_config(), costs in 0usize..4) {
        let Ok(table) = generate(name, &config) else { return Ok(()) };
        let (f, i, w) = COSTS[costs];
        let replay = table.replay(&Costs::new(f, i, w)).unwrap();
        for (rank, row) in table.ranks.iter().enumerate() {
            let busy: u64 = row.iter().map(|slot| Costs::new(f, i, w).of(slot)).sum();
            prop_assert_eq!(replay.busy[rank] + replay.idle(rank), replay.makespan);
            prop_assert_eq!(replay.busy[rank], busy);
            prop_assert!(replay.idle_in_span(rank) <= replay.idle(rank));
        }
        if let Some(idle) = published_idle(name, &config, COSTS[costs]) {
            prop_assert_eq!(replay.idle(0), idle, "{} {:?} {:?}", name, config, COSTS[costs]);
        }
        for (r, peak) in (0u32..).zip(&replay.peak_activations) {
            if let Some(published) = published_peak(name, &config, r) {
                prop_assert_eq!(*peak, published, "{} {:?} rank {}", name, config, r);
            }
        }
    }

    #[test]
    fn texts_give_the_table_back((name, config) in any_config()) {
        let Ok(table) = generate(name, &config) else { return Ok(()) };
        let printed = order::print(&table);
        let (read, spans) = order::parse_with_spans(&printed).unwrap();
        prop_assert_eq!(&read.ranks, &table.ranks);
        prop_assert_eq!(order::print(&read), &printed[..]);
        read.check().unwrap();
        for (row, spans) in table.ranks.iter().zip(&spans.slots) {
            for (slot, span) in row.iter().zip(spans) {
                prop_assert_eq!(&slot.to_string(), &printed[span.start..span.end]);
            }
        }
        let csv = torch_csv::write(&table).unwrap();
        prop_assert_eq!(torch_csv::read(&csv).unwrap().ranks, table.ranks);
    }

    /// A changed table is either still a valid order or refused: replay agrees with check, and nothing panics.
    #[test]
    fn check_and_replay_agree((name, config) in any_config(), rank in 0usize..8, slot in any::<usize>()) {
        let Ok(table) = generate(name, &config) else { return Ok(()) };
        let table = swapped(&table, rank, slot);
        let replay = table.replay(&Costs::new(1, 1, 1));
        prop_assert_eq!(table.check().is_ok(), replay.is_ok());
        if let Err(deadlock) = replay {
            let cycle = &deadlock.cycle;
            prop_assert!(!cycle.is_empty());
            for (at, stuck) in cycle.iter().enumerate() {
                let next = &cycle[(at + 1) % cycle.len()];
                prop_assert_eq!(stuck.found_at.rank, next.at.rank);
                prop_assert!(next.at.slot <= stuck.found_at.slot);
                for (position, action) in [(stuck.at, stuck.action), (stuck.found_at, stuck.waits_for)] {
                    let slot = &table.ranks[position.rank as usize][position.slot as usize];
                    prop_assert!(slot.actions().contains(&action));
                }
            }
        }
    }

    #[test]
    fn dropped_and_doubled_actions_are_found((name, config) in any_config(), rank in 0usize..8, slot in any::<usize>(), double in any::<bool>()) {
        let Ok(mut table) = generate(name, &config) else { return Ok(()) };
        let rank = rank % table.ranks.len();
        let row = &mut table.ranks[rank];
        let slot = slot % row.len();
        let removed = row.remove(slot);
        if double {
            row.insert(slot, removed.clone());
            row.push(removed);
        }
        prop_assert!(table.check().is_err());
        let _ = table.replay(&Costs::new(1, 1, 1));
    }

    #[test]
    fn lowered_programs_are_complete_and_never_hang((name, config) in any_config(), active in 1u32..5, merge in any::<bool>()) {
        let Ok(table) = generate(name, &config) else { return Ok(()) };
        let lowering = Lowering { merge, active_stages: Some(active), ..Lowering::default() };
        let program = lower(&table, &lowering).unwrap();
        prop_assert_eq!(program.check(Transport::Rendezvous), Ok(()), "{} {:?}", name, config);
        let text = torch_csv::write_program(&program);
        prop_assert_eq!(&torch_csv::read_program(&text).unwrap().0.ranks, &program.ranks);
        let merged = Program::of(&table).map_rows(merge_bw);
        prop_assert_eq!(program.table().ranks, if merge { merged.table().ranks } else { table.ranks.clone() });
        let late = lower(&table, &Lowering { defer: true, ..lowering }).unwrap();
        prop_assert_eq!(late.check(Transport::Buffered), Ok(()));
        if let Ok(batched) = p2p_batches(name, &config) {
            prop_assert_eq!(batched.check(Transport::Rendezvous), Ok(()));
        }
    }

    /// Two operations of a rank in each other's place, or one gone: refused, or still a program that ends.
    #[test]
    fn changed_programs_are_judged((name, config) in any_config(), rank in 0usize..8, at in any::<usize>(), other in any::<usize>(), drop in any::<bool>()) {
        let Ok(table) = generate(name, &config) else { return Ok(()) };
        let mut program = lower(&table, &Lowering::default()).unwrap();
        let row = rank % program.ranks.len();
        let row = &mut program.ranks[row];
        let (at, other) = (at % row.len(), other % row.len());
        if drop {
            let gone = row.remove(at);
            // Without its only transfer a program is read as one that has none yet, and reductions are optional.
            let optional = matches!(gone, Op::ReduceGrad(_)) || !program.has_transfers();
            if !optional && !matches!(gone, Op::Reshard(_)) {
                prop_assert!(program.check(Transport::Rendezvous).is_err(), "without {}", gone);
            }
        } else {
            row.swap(at, other);
            for transport in [Transport::Rendezvous, Transport::Buffered] {
                if let Err(faults) = program.check(transport) {
                    prop_assert!(!faults.is_empty() && !faults[0].to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn parsers_never_panic(text in "([0-9FBIWfx(|)., ={};*'\"a\n-]|SEND_|RECV_|UNSHARD){0,40}") {
        for error in [
            order::parse(&text).err(),
            Filter::parse(&text).err(),
            layout::parse(&text).err(),
            Pipeline::parse(&text).err(),
            torch_csv::read(&text).err(),
            torch_csv::read_program(&text).err(),
        ].into_iter().flatten() {
            prop_assert!(error.span.start <= text.len() && error.span.end <= text.len(), "{}", error);
            prop_assert!(!error.to_string().is_empty());
        }
        if let Ok(filter) = Filter::parse(&text) {
            let printed = filter.to_string();
            prop_assert_eq!(Filter::parse(&printed).unwrap().to_string(), printed);
        }
        if let Ok(pipeline) = Pipeline::parse(&text) {
            let printed = pipeline.to_string();
            prop_assert_eq!(Pipeline::parse(&printed).unwrap().to_string(), printed);
        }
        if let Ok(table) = order::parse(&text) {
            let printed = order::print(&table);
            prop_assert_eq!(order::print(&order::parse(&printed).unwrap()), printed);
            let _ = table.check();
        }
        if let Ok((program, spans)) = torch_csv::read_program(&text) {
            let _ = program.check(Transport::Rendezvous);
            for (row, spans) in program.ranks.iter().zip(&spans.ops) {
                prop_assert_eq!(row.len(), spans.len());
            }
        }
        if let Ok(Ok(printed)) = torch_csv::read(&text).map(|table| torch_csv::write(&table)) {
            let again = torch_csv::read(&printed).map(|table| torch_csv::write(&table));
            prop_assert_eq!(again.unwrap(), Ok(printed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A search ends with a complete table within its limit, the same each time, or says that there is none.
    #[test]
    fn searched_tables_keep_their_limit(vee in any::<bool>(), p in 1u32..5, m in 1u32..10, limit in 1u32..12, f in 1u64..5, i in 1u64..5, w in 1u64..5, c in 0u64..3) {
        let (name, v) = if vee { ("zbv_auto", 2) } else { ("zb_auto", 1) };
        let costs = Costs::new(f, i, w).with_transport(c);
        let config = Config::new(p, v, m).with_costs(costs).with_max_activations(limit);
        match generate(name, &config) {
            Ok(table) => {
                prop_assert!(table.check().is_ok());
                let replay = table.replay(&costs).unwrap();
                prop_assert!(replay.peak_activations.iter().all(|peak| *peak <= limit));
                prop_assert_eq!(generate(name, &config).unwrap(), table);
            }
            Err(rejected) => prop_assert!(rejected.hint.is_some(), "{}", rejected),
        }
    }
}
