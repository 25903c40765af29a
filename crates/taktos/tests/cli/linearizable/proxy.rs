//! What lies between an instance and a member of etcd: it can be cut and slowed down.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const CUT: u64 = u64::MAX;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Hands on what is sent either way. What is sent while it is cut arrives afterwards, as
/// TCP sends it again.
pub struct Proxy {
    pub address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// By how many milliseconds what is sent is late.
    delay: AtomicU64,
    is_over: AtomicBool,
}

impl Proxy {
    /// Starts one in front of an address.
    pub fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (state, to) = (Arc::<State>::default(), to.to_owned());
        let shared = state.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if shared.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(far) = TcpStream::connect(&to) else {
                    continue;
                };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let [from, to] = [from, to].map(|it| it.try_clone().unwrap());
                    let state = shared.clone();
                    thread::spawn(move || state.hand_on(from, to));
                }
            }
        });
        Self { address, state }
    }

    pub fn cut(&self) {
        self.state.delay.store(CUT, Ordering::Relaxed);
    }

    pub fn slow_down(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).unwrap();
        self.state.delay.store(delay, Ordering::Relaxed);
    }

    pub fn mend(&self) {
        self.slow_down(Duration::ZERO);
    }
}

impl State {
    fn hand_on(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            while self.delay.load(Ordering::Relaxed) == CUT && !self.is_over.load(Ordering::Relaxed)
            {
                thread::sleep(LOOK_INTERVAL);
            }
            match self.delay.load(Ordering::Relaxed) {
                0 | CUT => {}
                delay => thread::sleep(Duration::from_millis(delay)),
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        for stream in [from, to] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // It looks when somebody comes.
        let _ = TcpStream::connect(&self.address);
    }
}
