//! Pipeline schedules as action tables: generators, table text, replay. Knows nothing of the IR.
