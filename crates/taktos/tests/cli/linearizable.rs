//! Three instances and three members of etcd, all of which fail, while clients have flows
//! admitted and withdrawn: is what they see what one controller could have done?

mod history;
mod proxy;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use self::history::{Answer, Flows, Operation, Request};
use self::proxy::Proxy;
use crate::cluster::{Cluster, Extras, free_port};
use crate::controller::ready_address;
use crate::testbed::{Testbed, stop};
use crate::workplace::Running;

const NAMES: [&str; 3] = ["a", "b", "c"];
const CLIENTS: u32 = 4;
/// How long a client waits between two requests.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a client waits for an answer, which it does not know then.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long is waited for what has to come.
const MOST_LOOKS: u32 = 600;
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long what fails stays away.
const ABSENCE: Duration = Duration::from_secs(2);
/// By how much what one says to etcd, and hears of it, is late where that is slow.
const LATE: Duration = Duration::from_millis(200);
/// How long it goes on between two failures.
const BETWEEN: Duration = Duration::from_secs(2);

/// The instances, of which any may be away.
struct Instances<'a> {
    bed: &'a Testbed,
    /// What is between each of them and each member of etcd.
    ways: [Vec<Proxy>; 3],
    /// Where each hears switches, the others, and programs.
    ports: [[u16; 3]; 3],
    running: [Mutex<Option<Running>>; 3],
}

impl<'a> Instances<'a> {
    fn new(bed: &'a Testbed, etcd: &Cluster) -> Self {
        let ports = [(); 3].map(|()| [(); 3].map(|()| free_port()));
        let urls = etcd.urls();
        let ways = [(); 3].map(|()| {
            let members = urls.iter().map(|url| url.trim_start_matches("http://"));
            members.map(Proxy::start).collect()
        });
        Self {
            bed,
            ways,
            ports,
            running: Default::default(),
        }
    }

    fn start(&self, number: usize) {
        let [switches, others, programs] = self.ports[number].map(|it| format!("127.0.0.1:{it}"));
        let members = self.ways[number].iter();
        let members: Vec<_> = members.map(|it| format!("http://{}", it.address)).collect();
        let etcd = members.join(",");
        let arguments = [
            &["controller", "--openflow", &switches, "--cluster", &others],
            &["--http", &programs, "--etcd", &etcd, "--id"][..],
            &[NAMES[number]],
        ];
        let mut running = Running::start(self.bed.workplace.taktos(arguments.concat()));
        ready_address(&mut running);
        *self.running[number].lock().unwrap() = Some(running);
    }

    fn signal(&self, number: usize, signal: Signal) {
        self.running[number]
            .lock()
            .unwrap()
            .as_ref()
            .unwrap()
            .signal(signal);
    }

    /// Has one end by a signal and start again a while later.
    fn restart(&self, number: usize, signal: Signal) {
        let running = self.running[number].lock().unwrap().take().unwrap();
        running.signal(signal);
        running.end();
        thread::sleep(ABSENCE);
        self.start(number);
    }

    /// Asks an instance; nothing if it does not answer.
    fn ask(&self, number: usize, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        Self::ask_over(self.connect(number)?, method, path, body)
    }

    /// Connects to an instance; nothing if it is not there, and so hears nothing.
    fn connect(&self, number: usize) -> Option<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.ports[number][2])).ok()
    }

    fn ask_over(
        mut stream: TcpStream,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Option<(u16, Value)> {
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        // It says itself that this may be no longer so.
        if head.to_lowercase().contains("taktos-stale") {
            return None;
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// Returns which of them decides, as any says that is there.
    fn sequencer(&self) -> usize {
        let mut found = None;
        until("one decides", || {
            found = (0..3).find_map(|asked| {
                let (_, document) = self.ask(asked, "GET", "/api/v1/instances", &Value::Null)?;
                let listed = document["instances"].as_array()?.clone();
                let mut deciding = listed.iter().filter(|it| it["decides"] == true);
                let name = deciding.find(|it| it["lives"] == true)?["id"].clone();
                NAMES.iter().position(|it| name == *it)
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Does what a client asks for. Nothing if it is known that nothing was done.
    fn request(&self, number: usize, request: Request) -> Option<Operation> {
        let asked = Instant::now();
        let stream = self.connect(number)?;
        let answer = match &request {
            Request::Admit(name) => {
                let flow = json!({
                    "name": format!("f{name}"),
                    "source": "h1",
                    "destinations": ["h2"],
                    "match": {
                        "ipv4_destination": "10.0.0.2", "protocol": "udp", "destination_port": name
                    },
                    "deadline_ns": 100_000_000,
                    "rate_bps": 3_000_000,
                    "largest_frame_bytes": 1500,
                });
                Self::ask_over(stream, "POST", "/api/v1/flows", &flow)
            }
            Request::Withdraw(name) => {
                let path = format!("/api/v1/flows/f{name}");
                Self::ask_over(stream, "DELETE", &path, &Value::Null)
            }
            Request::List => Self::ask_over(stream, "GET", "/api/v1/flows", &Value::Null),
        };
        let answer = match answer {
            None => Answer::Unknown,
            Some((status, document)) => understood(&request, status, &document)?,
        };
        if answer == Answer::Unknown && request == Request::List {
            return None;
        }
        Some(Operation {
            asked,
            answered: Instant::now(),
            request,
            answer,
        })
    }
}

// A test that fails leaves nobody behind.
impl Drop for Instances<'_> {
    fn drop(&mut self) {
        for running in &self.running {
            if let Ok(running) = running.lock()
                && let Some(running) = &*running
            {
                running.signal(Signal::KILL);
            }
        }
    }
}

/// Returns what an answer says; nothing if it says that nothing was done.
fn understood(request: &Request, status: u16, document: &Value) -> Option<Answer> {
    let code = document["error"]["code"].as_str().unwrap_or_default();
    match (request, status, code) {
        (Request::Admit(_), 201, _) | (Request::Withdraw(_), 204, _) => Some(Answer::Done),
        (Request::List, 200, _) => Some(Answer::Listed(flows(document))),
        (Request::Withdraw(_), 404, "unknown-flow") => Some(Answer::Refused),
        // What was withdrawn has its room until switches have confirmed that, and whoever
        // decides now may not see the hosts yet.
        (Request::Admit(_), 422, _) => None,
        (_, 503, "no-sequencer" | "starting" | "busy" | "not-stored" | "store-failed") => None,
        (_, 503, _) => Some(Answer::Unknown),
        (_, status, _) => panic!("{request:?}: {status} {document}"),
    }
}

fn flows(document: &Value) -> Flows {
    let listed = document["flows"].as_array().unwrap().iter();
    let names = listed.map(|flow| flow["name"].as_str().unwrap()[1..].parse().unwrap());
    names.collect()
}

/// A source of chances, one for each client.
struct Chances(u64);

impl Chances {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// What clients share.
#[derive(Default)]
struct Shared {
    names: AtomicU32,
    /// Flows that may be there.
    admitted: Mutex<Vec<u32>>,
    is_over: AtomicBool,
}

/// Asks one instance after the other until it is over.
fn client(all: &Instances<'_>, number: u32, shared: &Shared) -> Vec<Operation> {
    let mut chances = Chances(u64::from(number));
    let mut seen = Vec::new();
    while !shared.is_over.load(Ordering::Relaxed) {
        let one = shared.admitted.lock().unwrap().pop();
        let request = match (chances.below(4), one) {
            (0, one) => {
                shared.admitted.lock().unwrap().extend(one);
                Request::List
            }
            (1, Some(one)) => Request::Withdraw(one),
            (_, one) => {
                shared.admitted.lock().unwrap().extend(one);
                Request::Admit(shared.names.fetch_add(1, Ordering::Relaxed))
            }
        };
        let asked = usize::try_from(chances.below(3)).unwrap();
        let operation = all.request(asked, request.clone());
        let answer = operation.as_ref().map(|it| &it.answer);
        let may_be_there = match (&request, answer) {
            (Request::Admit(name), Some(Answer::Done | Answer::Unknown)) => Some(*name),
            (Request::Withdraw(name), None | Some(Answer::Unknown)) => Some(*name),
            _ => None,
        };
        shared.admitted.lock().unwrap().extend(may_be_there);
        seen.extend(operation);
        thread::sleep(PAUSE);
    }
    seen
}

/// Says that it is over, however that comes about.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until something is so, beside all that fails.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let looks = (0..MOST_LOOKS).map(|_| thread::sleep(LOOK_INTERVAL));
    assert!(
        looks.into_iter().any(|()| is_so()),
        "not so in time: {what}"
    );
}

/// Has each kind of failure happen once.
fn fail(all: &Instances<'_>, etcd: &mut Cluster) {
    for signal in [Signal::KILL, Signal::TERM] {
        thread::sleep(BETWEEN);
        all.restart(all.sequencer(), signal);
    }
    thread::sleep(BETWEEN);
    let paused = all.sequencer();
    all.signal(paused, Signal::STOP);
    thread::sleep(ABSENCE);
    all.signal(paused, Signal::CONT);
    thread::sleep(BETWEEN);
    etcd.kill(0);
    thread::sleep(ABSENCE);
    etcd.start(0);
    thread::sleep(BETWEEN);
    // No majority is left.
    for member in [1, 2] {
        etcd.signal(member, Signal::STOP);
    }
    thread::sleep(ABSENCE);
    for member in [1, 2] {
        etcd.signal(member, Signal::CONT);
    }
    thread::sleep(BETWEEN);
    let cut_off = &all.ways[all.sequencer()];
    cut_off.iter().for_each(Proxy::cut);
    thread::sleep(ABSENCE);
    cut_off.iter().for_each(Proxy::mend);
    thread::sleep(BETWEEN);
    let slow = &all.ways[all.sequencer()];
    slow.iter().for_each(|it| it.slow_down(LATE));
    thread::sleep(ABSENCE);
    slow.iter().for_each(Proxy::mend);
    // As a new release is taken into use: one after the other.
    for number in 0..3 {
        thread::sleep(BETWEEN);
        all.restart(number, Signal::TERM);
    }
    thread::sleep(BETWEEN);
}

#[test]
fn three_instances_do_what_one_could_have_done_while_all_fail() {
    let test = "three_instances_do_what_one_could_have_done_while_all_fail";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    bed.room.run(|| {
        let Some(mut etcd) = Cluster::start_or_skip(test, 3, Extras::default()) else {
            return;
        };
        let all = Instances::new(&bed, &etcd);
        (0..3).for_each(|number| all.start(number));
        let controllers = all.ports.map(|[port, ..]| format!("tcp:127.0.0.1:{port}"));
        let mut arguments = vec!["--ports", "s1,s2", "--dpid", "1"];
        for controller in &controllers {
            arguments.extend(["--controller", controller]);
        }
        let switch = bed.start(&arguments);
        for number in [1, 2] {
            let host = json!({
                "mac": format!("02:00:00:00:00:0{number}"),
                "attachment": { "datapath": "0000000000000001", "port": number },
            });
            until("a host is named", || {
                let path = format!("/api/v1/hosts/h{number}");
                let named = all.ask(0, "PUT", &path, &host);
                named.is_some_and(|(status, _)| status == 204)
            });
        }
        let shared = &Shared::default();
        let capacity = fill(&all, &shared.names);

        let mut seen = thread::scope(|scope| {
            let all = &all;
            let clients =
                (0..CLIENTS).map(|number| scope.spawn(move || client(all, number, shared)));
            let clients: Vec<_> = clients.collect();
            let over = Over(&shared.is_over);
            fail(all, &mut etcd);
            drop(over);
            let seen = clients.into_iter().map(|it| it.join().unwrap());
            seen.flatten().collect::<Vec<_>>()
        });

        all.sequencer();
        for number in 0..3 {
            until("each says in the end what there is", || {
                let listed = all.request(number, Request::List);
                seen.extend(listed.clone());
                listed.is_some()
            });
        }
        let count = |is: fn(&Operation) -> bool| seen.iter().filter(|it| is(it)).count();
        let unknown = count(|it| it.answer == Answer::Unknown);
        let done = count(|it| it.answer == Answer::Done);
        println!(
            "{} answers, {done} changes, {unknown} unknown, room for {capacity}",
            seen.len()
        );
        assert!(done > 50, "{done} changes are too few to tell anything");
        if let Err(operation) = history::check(&seen, capacity) {
            panic!("nothing explains {operation:?}");
        }
        assert_another_answer_is_noticed(seen, capacity);
        for running in &all.running {
            stop(running.lock().unwrap().take().unwrap());
        }
        assert_eq!(stop(switch).code, Some(0));
    });
}

/// Asserts that the same would not pass if an answer were another one.
fn assert_another_answer_is_noticed(mut seen: Vec<Operation>, capacity: usize) {
    let last = seen.last_mut().unwrap();
    last.answer = Answer::Listed(BTreeSet::from([u32::MAX]));
    assert!(history::check(&seen, capacity).is_err());
}

/// Returns how many flows fit; none is left.
fn fill(all: &Instances<'_>, names: &AtomicU32) -> usize {
    let mut admitted = Vec::new();
    let mut refused = 0;
    // The first may be refused as long as the switch is not seen.
    while admitted.is_empty() || refused < 3 {
        let name = names.fetch_add(1, Ordering::Relaxed);
        match all.request(0, Request::Admit(name)).map(|it| it.answer) {
            Some(Answer::Done) => admitted.push(name),
            None if admitted.is_empty() => thread::sleep(LOOK_INTERVAL),
            None => refused += 1,
            Some(other) => panic!("{other:?}"),
        }
    }
    for name in &admitted {
        let withdrawn = all.request(1, Request::Withdraw(*name));
        assert_eq!(withdrawn.unwrap().answer, Answer::Done);
    }
    admitted.len()
}
