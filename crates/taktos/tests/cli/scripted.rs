//! A server that answers as a test says, and notes what it was asked.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::testbed::PATIENCE;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Method and path, as in `GET /api/v1/flows`.
    pub what: String,
    /// The lines of the head, in lower case.
    pub head: String,
    pub body: String,
}

/// How one request is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// With this status and document.
    Document(u16, String),
    /// With a stream of these pieces; it ends as a stream should.
    Stream(Vec<String>),
    /// With a stream of these pieces, which then breaks.
    Broken(Vec<String>),
}

/// A server with one script.
pub struct Scripted {
    pub url: String,
    log: Arc<Log>,
}

/// What was asked, and a bell for each question.
#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    bell: Condvar,
}

/// The answers for each path; the last one stays.
pub type Script = Vec<(&'static str, VecDeque<Answer>)>;

impl Scripted {
    /// Starts a server. A path that the script does not have is not found.
    pub fn start(script: impl IntoIterator<Item = (&'static str, Vec<Answer>)>) -> Self {
        let script: Script = script
            .into_iter()
            .map(|(path, it)| (path, it.into()))
            .collect();
        let script = Arc::new(Mutex::new(script));
        let log = Arc::new(Log::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Arc::clone(&log);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&kept));
                thread::spawn(move || serve(stream, &script, &log));
            }
        });
        Self { url, log }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.log.asked.lock().unwrap().clone()
    }

    /// Waits until `what` was asked so often.
    #[track_caller]
    pub fn wait_for(&self, what: &str, times: usize) {
        let too_few =
            |asked: &mut Vec<Asked>| asked.iter().filter(|it| it.what == what).count() < times;
        let asked = self.log.asked.lock().unwrap();
        let waited = self.log.bell.wait_timeout_while(asked, PATIENCE, too_few);
        let (asked, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "{asked:?}");
    }
}

/// Answers requests until the client goes away.
fn serve(stream: TcpStream, script: &Mutex<Script>, log: &Log) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(asked) = request(&mut reader) {
        let answer = answer(script, &asked.what);
        log.asked.lock().unwrap().push(asked);
        log.bell.notify_all();
        let (pieces, whole) = match answer {
            Answer::Document(status, text) => {
                let length = text.len();
                let head = format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\n\r\n");
                if stream.write_all((head + &text).as_bytes()).is_err() {
                    return;
                }
                continue;
            }
            Answer::Stream(pieces) => (pieces, true),
            Answer::Broken(pieces) => (pieces, false),
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        let chunks = pieces.iter();
        let chunks = chunks.map(|it| format!("{:x}\r\n{it}\r\n", it.len()));
        let end = if whole {
            "0\r\n\r\n"
        } else {
            "ffff\r\nhalf of"
        };
        let text = [head.to_owned(), chunks.collect(), end.to_owned()].concat();
        let _ = stream.write_all(text.as_bytes());
        return;
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut first = String::new();
    reader
        .read_line(&mut first)
        .ok()
        .filter(|count| *count > 0)?;
    let what = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        let name = name.to_lowercase();
        if name == "content-length" {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&format!("{name}: {}\n", value.trim()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Asked { what, head, body })
}

fn answer(script: &Mutex<Script>, what: &str) -> Answer {
    let mut script = script.lock().unwrap();
    let Some((_, answers)) = script.iter_mut().find(|(path, _)| *path == what) else {
        let problem = r#"{"error":{"code":"no-such-path","message":"there is nothing"}}"#;
        return Answer::Document(404, problem.to_owned());
    };
    match answers.len() {
        1 => answers[0].clone(),
        _ => answers.pop_front().unwrap(),
    }
}
