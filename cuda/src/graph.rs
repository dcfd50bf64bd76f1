//! A step as one CUDA graph: captured once from the streams, replayed with one call.
//!
//! Everything of a step is static but the run-time scalars (step number, learning rate): the nodes of launches that take some
//! are given their arguments anew before each replay, if any has changed.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::null_mut;

use cudarc::driver::sys;

use crate::device::{Device, Event};
use crate::driver::Driver;
use crate::resolve::{Issue, Launch, Op};
use crate::worker::Worker;

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: other devices' threads go on meanwhile.
const THREAD_LOCAL: c_int = 1;

/// A step that can be replayed.
pub(crate) struct Replay {
    driver: &'static Driver,
    exec: sys::CUgraphExec,
    graph: sys::CUgraph,
    /// Launches with scalars: their nodes, and which operations they are.
    nodes: Vec<(sys::CUgraphNode, usize)>,
    /// The scalars that the nodes hold.
    scalars: Vec<u64>,
    /// Kept as long as the graph.
    _events: Vec<Event>,
}

/// An optional function of the driver, or why there are no graphs.
macro_rules! graph {
    ($driver:expr, $name:ident) => {
        $driver.api.$name.ok_or(concat!(
            "the driver has no ",
            stringify!($name),
            ", so there are no graphs; run without --graphs"
        ))?
    };
}

impl Replay {
    /// Captures a step. Nothing is run.
    pub(crate) fn capture(worker: &Worker<'_>) -> Result<Self, String> {
        let device = &worker.device;
        let driver = device.driver;
        let failed = |doing: &str, code: u32| match code {
            0 => Ok(()),
            code => Err(format!("capturing the step: {doing}: {}", driver.describe(code))),
        };
        let said = |error: crate::CudaError| error.to_string();
        let issue = worker.issue.as_ref().ok_or("the device has not joined the others")?;
        let events = device.streams.iter().map(|stream| device.event(stream));
        let events = events.collect::<Result<Vec<_>, _>>().map_err(said)?;
        let origin = &device.streams[0];
        device.enter(origin.context).map_err(said)?;
        let begin = graph!(driver, cuStreamBeginCapture_v2);
        let end = graph!(driver, cuStreamEndCapture);
        // SAFETY: a stream of this device, on which nothing is under way.
        failed("beginning", unsafe { begin(origin.raw, THREAD_LOCAL) })?;
        let captured = body(worker, issue, &events);
        let mut graph = null_mut();
        // SAFETY: begun above. A capture is ended even if something went wrong within it.
        let ended = failed("ending", unsafe { end(origin.raw, &raw mut graph) });
        let mut replay = Self {
            driver,
            exec: null_mut(),
            graph,
            nodes: Vec::new(),
            scalars: bits(issue),
            _events: events,
        };
        replay.nodes = captured?;
        ended?;
        let instantiate = graph!(driver, cuGraphInstantiateWithFlags);
        // SAFETY: a graph that was captured.
        let code = unsafe { instantiate(&raw mut replay.exec, graph, 0) };
        failed("making it executable", code)?;
        if let Some(upload) = driver.api.cuGraphUpload {
            // SAFETY: a graph that was just instantiated, and a stream of its device.
            failed("uploading it", unsafe { upload(replay.exec, origin.raw) })?;
        }
        Ok(replay)
    }

    /// Puts the step on the first stream.
    pub(crate) fn launch(&mut self, device: &Device, issue: &Issue) -> Result<(), String> {
        let scalars = bits(issue);
        if scalars != self.scalars {
            let set = graph!(self.driver, cuGraphExecKernelNodeSetParams_v2);
            for (node, op) in &self.nodes {
                let Op::Launch(launch) = &issue.ops[*op] else { continue };
                let params = params(launch);
                // SAFETY: a node of this graph, with the function and as many arguments as it was captured with; the driver
                // copies them.
                let code = unsafe { set(self.exec, *node, &raw const params) };
                self.outcome("giving a launch its scalars", code)?;
            }
            self.scalars = scalars;
        }
        let launch = graph!(self.driver, cuGraphLaunch);
        // SAFETY: an executable graph and a stream of its device.
        let code = unsafe { launch(self.exec, device.streams[0].raw) };
        self.outcome("replaying the step", code)
    }

    fn outcome(&self, doing: &str, code: u32) -> Result<(), String> {
        if code == 0 { Ok(()) } else { Err(format!("{doing}: {}", self.driver.describe(code))) }
    }
}

/// Scalars by their bits, so that NaN equals itself.
fn bits(issue: &Issue) -> Vec<u64> {
    issue.scalars.iter().map(|scalar| scalar.get().to_bits()).collect()
}

/// All operations between the forks of the other streams from the first and their joins with it.
fn body(
    worker: &Worker<'_>,
    issue: &Issue,
    events: &[Event],
) -> Result<Vec<(sys::CUgraphNode, usize)>, String> {
    let device = &worker.device;
    let api = &device.driver.api;
    let outcome = |code: u32| match code {
        0 => Ok(()),
        code => Err(format!("capturing the step: {}", device.driver.describe(code))),
    };
    let origin = device.streams[0].raw;
    // SAFETY (of all calls): streams and events of this device.
    outcome(unsafe { (api.cuEventRecord)(events[0].raw, origin) })?;
    for stream in &device.streams[1..] {
        // SAFETY: see above.
        outcome(unsafe { (api.cuStreamWaitEvent)(stream.raw, events[0].raw, 0) })?;
    }
    let mut nodes = Vec::new();
    for (at, op) in issue.ops.iter().enumerate() {
        worker.put(issue, op)?;
        if let Op::Launch(launch) = op
            && launch.has_scalars
        {
            nodes.push((last_node(worker, launch)?, at));
        }
    }
    for (stream, event) in device.streams.iter().zip(events).skip(1) {
        device.enter(stream.context).map_err(|error| error.to_string())?;
        // SAFETY: see above.
        outcome(unsafe { (api.cuEventRecord)(event.raw, stream.raw) })?;
        // SAFETY: see above.
        outcome(unsafe { (api.cuStreamWaitEvent)(origin, event.raw, 0) })?;
    }
    Ok(nodes)
}

/// The node that a launch has just become: the one thing that its stream waits for now.
fn last_node(worker: &Worker<'_>, launch: &Launch) -> Result<sys::CUgraphNode, String> {
    let driver = worker.device.driver;
    let info = graph!(driver, cuStreamGetCaptureInfo_v2);
    let (mut status, mut id, mut count) = (0, 0, 0);
    let (mut graph, mut nodes) = (null_mut(), std::ptr::null());
    let stream = worker.device.streams[launch.stream].raw;
    // SAFETY: a stream that is captured; all results are written to things that live here.
    let code = unsafe {
        info(stream, &raw mut status, &raw mut id, &raw mut graph, &raw mut nodes, &raw mut count)
    };
    if code != 0 {
        return Err(format!("capturing a launch: {}", driver.describe(code)));
    }
    if count != 1 || nodes.is_null() {
        return Err(format!("capturing a launch: it became {count} nodes"));
    }
    // SAFETY: the driver gave an array of one node, valid until the stream is used again.
    Ok(unsafe { *nodes })
}

fn params(launch: &Launch) -> sys::CUDA_KERNEL_NODE_PARAMS {
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: launch.function,
        gridDimX: launch.grid[0],
        gridDimY: launch.grid[1],
        gridDimZ: launch.grid[2],
        blockDimX: launch.block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: launch.shared,
        kernelParams: launch.arguments.as_ptr().cast_mut(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(destroy) = self.driver.api.cuGraphExecDestroy.filter(|_| !self.exec.is_null()) {
            // SAFETY: instantiated by `capture`, destroyed once. A failure leaks it until the process ends.
            unsafe { destroy(self.exec) };
        }
        if let Some(destroy) = self.driver.api.cuGraphDestroy.filter(|_| !self.graph.is_null()) {
            // SAFETY: captured by `capture`, destroyed once.
            unsafe { destroy(self.graph) };
        }
    }
}
