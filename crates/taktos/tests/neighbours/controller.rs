//! `taktos controller` on a workbench, and what it says when it is asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::workbench::{Workbench, taktos};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the controller is asked.
pub const HTTP: u16 = 8_181;

impl Workbench {
    /// Starts a controller and waits until it runs; returns its place.
    pub fn start_controller(&mut self, arguments: &[&str]) -> usize {
        self.start_controller_named("controller", arguments)
    }

    /// Starts one of several controllers, whose log is called like it.
    pub fn start_controller_named(&mut self, name: &str, arguments: &[&str]) -> usize {
        let before = self.log(name).matches("running").count();
        let mut command = taktos("controller");
        command.args(arguments);
        let program = self.start(name, command);
        self.until(name, || self.log(name).matches("running").count() > before);
        program
    }

    /// Asks the controller; returns the status and the document.
    pub fn ask(&self, method: &str, path: &str, document: &Value) -> (u16, Value) {
        self.ask_at(HTTP, method, &format!("/api/v1/{path}"), document)
    }

    /// Asks the controller that listens at a port for a path.
    pub fn ask_at(&self, port: u16, method: &str, path: &str, document: &Value) -> (u16, Value) {
        let body = match document {
            Value::Null => String::new(),
            document => document.to_string(),
        };
        let mut stream = self
            .within(|| TcpStream::connect(("127.0.0.1", port)))
            .unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(json!(body)))
    }

    /// Returns what the controller knows of the network.
    pub fn topology(&self) -> Value {
        let (status, topology) = self.ask("GET", "topology", &Value::Null);
        assert_eq!(status, 200, "{topology}");
        topology
    }

    /// Waits until the controller has found so much.
    #[track_caller]
    pub fn await_network(&self, switches: usize, links: usize) {
        let wanted = json!([switches, links]);
        self.until("network as it was built", || {
            let counts = &self.topology()["counts"];
            json!([counts["switches"], counts["links"]]) == wanted
        });
    }

    /// Returns the name of the host with this address, once the controller knows
    /// where it is.
    pub fn host_named(&self, mac: &str) -> Option<String> {
        let topology = self.topology();
        let mut hosts = topology["hosts"].as_array()?.iter();
        let host = hosts.find(|host| host["mac"] == mac && !host["attachment"].is_null())?;
        Some(host["name"].as_str()?.to_owned())
    }
}
