// The connection to the controller: the whole state once, and then what is other than
// before, as server-sent events. Runs in a worker that all tabs of a browser share, since a
// browser has six connections to a server of HTTP/1.1.

const RETRY_MS = 1000;
const REFRESH_MS = 300;
/** A sign of life comes every 15 s: who is silent for longer is gone. */
const SILENCE_MS = 40000;
const EVENTS_KEPT = 500;
const SAMPLES_KEPT = 3600;
const FLOWS_AT_ONCE = 1000;

export class Connection {
  #tell;
  #token = '';
  #page = null;
  #events = [];
  #samples = [];
  #status = { state: 'opening', since: Date.now() };
  #flows = new Map();
  #ports = new Map();
  #refreshing = null;
  #generation = 0;

  /** `tell` is called with every message, for all tabs. */
  constructor(tell) {
    this.#tell = tell;
  }

  /** What a tab is told that comes later than others. */
  greeting() {
    const messages = [{ status: this.#status }];
    if (this.#page) messages.push({ page: this.#current(), events: this.#events, samples: this.#samples });
    return messages;
  }

  start() {
    this.#run(++this.#generation);
    setInterval(() => this.#sample(), 1000);
  }

  /** Shows who asks from now on. It is kept in memory alone. */
  identify(token) {
    this.#token = token;
    this.#run(++this.#generation);
  }

  async #run(generation) {
    while (generation === this.#generation) {
      try {
        await this.#fetchPage();
        await this.#watch(generation);
        this.#become('lost', 'the controller has closed the connection');
      } catch (problem) {
        if (generation !== this.#generation) return;
        if (problem.status === 401) return this.#become('stranger', problem.message);
        if (problem.status === 404) return this.#become('over', problem.message);
        this.#become('lost', problem.message);
      }
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  #become(state, reason) {
    const { state: before, reason: why, since } = this.#status;
    if (before === state && why === reason) return;
    this.#status = { state, reason, since: before === state ? since : Date.now() };
    this.#tell({ status: this.#status });
  }

  async #ask(path, signal) {
    const headers = this.#token ? { Authorization: `Bearer ${this.#token}` } : {};
    let response;
    try {
      response = await fetch(path, { headers, signal, cache: 'no-store' });
    } catch {
      throw new Error('the controller does not answer');
    }
    if (response.ok) return response;
    const body = await response.json().catch(() => null);
    const problem = new Error(body?.error?.message ?? `status ${response.status}`);
    problem.status = response.status;
    throw problem;
  }

  async #fetchPage() {
    const asked = [this.#ask('/api/v1/page'), this.#ask('/api/v1/caller')];
    const [page, caller] = await Promise.all(asked.map(async (it) => (await it).json()));
    page.caller = caller;
    const isAnother = this.#page?.instance.since_ns !== page.instance.since_ns;
    if (isAnother) {
      const latest = await this.#ask(`/api/v1/events/latest?limit=${EVENTS_KEPT}`);
      this.#events = (await latest.json()).events.filter((it) => it.id <= page.event);
    }
    this.#flows = new Map(page.observed.flows.map((it) => [it[0], it]));
    this.#ports = new Map(page.observed.ports.map((it) => [`${it[0]}:${it[1]}`, it]));
    this.#page = page;
    this.#tell({ page, events: this.#events });
  }

  #current() {
    const observed = { flows: [...this.#flows.values()], ports: [...this.#ports.values()] };
    return { ...this.#page, observed: { ...this.#page.observed, ...observed } };
  }

  /** Something has happened: soon all is shown anew, once for many events. */
  #refresh() {
    this.#refreshing ??= setTimeout(async () => {
      this.#refreshing = null;
      // Who cannot be asked now is asked again when the connection is back.
      await this.#fetchPage().catch(() => {});
    }, REFRESH_MS);
  }

  async #watch(generation) {
    const abort = new AbortController();
    let guard;
    const live = () => {
      clearTimeout(guard);
      guard = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    live();
    try {
      const last = this.#events.at(-1)?.id ?? this.#page.event;
      const path = `/api/v1/events?observed=true&after=${Math.max(last, this.#page.event)}`;
      const response = await this.#ask(path, abort.signal);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      this.#become('open', null);
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done || generation !== this.#generation) return;
        live();
        const messages = (text + value).split('\n\n');
        text = messages.pop();
        for (const message of messages) this.#take(message);
      }
    } finally {
      clearTimeout(guard);
      abort.abort();
    }
  }

  #take(message) {
    const field = (name) => message.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = field('data');
    if (!data) return;
    const said = JSON.parse(data);
    if (field('event') === 'observed') {
      for (const flow of said.flows) this.#flows.set(flow[0], flow);
      for (const port of said.ports) this.#ports.set(`${port[0]}:${port[1]}`, port);
      this.#page.observed.at_ns = said.at_ns;
      this.#tellObserved(said);
      return;
    }
    if (this.#events.some((it) => it.id === said.id && it.at_ns === said.at_ns)) return;
    this.#events = [...this.#events.slice(1 - EVENTS_KEPT), said];
    this.#tell({ event: said });
    this.#refresh();
  }

  /** Tells of many flows in parts, each of which a tab takes in at once. */
  #tellObserved({ at_ns, flows, ports }) {
    for (let at = 0; at + FLOWS_AT_ONCE < flows.length; at += FLOWS_AT_ONCE) {
      this.#tell({ observed: { at_ns, flows: flows.slice(at, at + FLOWS_AT_ONCE), ports: [], isPart: true } });
    }
    const rest = flows.length && (flows.length - 1) % FLOWS_AT_ONCE + 1;
    this.#tell({ observed: { at_ns, flows: flows.slice(flows.length - rest), ports } });
  }

  /** Notes once a second how late the frames of each class have been at most. */
  #sample() {
    if (this.#status.state !== 'open' || !this.#page) return;
    const highest = {};
    for (const flow of this.#page.flows) {
      const observed = this.#flows.get(flow.id)?.[1];
      if (observed) highest[flow.class] = Math.max(highest[flow.class] ?? 0, observed);
    }
    const sample = { at: Date.now() / 1000, highest };
    this.#samples = [...this.#samples.slice(1 - SAMPLES_KEPT), sample];
    this.#tell({ sample });
  }
}
