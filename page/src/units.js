// Numbers as people read them: each with its unit.

/** A duration of nanoseconds, with three digits that count. */
export function duration(ns) {
  if (ns === null || ns === undefined) return '–';
  const steps = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']];
  for (const [size, unit] of steps) {
    // What would be rounded to a thousand is one of the next unit.
    if (Math.abs(ns) >= size * 0.9995) return `${digits(ns / size)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

export function rate(bps) {
  for (const [size, unit] of [[1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'kbit/s']]) {
    if (bps >= size * 0.9995) return `${digits(bps / size)} ${unit}`;
  }
  return `${bps} bit/s`;
}

/** How long ago something was, roughly. */
export function age(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 2) return 'now';
  if (seconds < 100) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min ago`;
  return `${Math.round(minutes / 60)} h ago`;
}

/** The time of day of a moment in nanoseconds since 1970. */
export function clock(ns) {
  return new Date(ns / 1e6).toLocaleTimeString('en-GB');
}

export function percent(share) {
  return `${digits(share * 100)} %`;
}

export function count(number) {
  return number.toLocaleString('en-GB').replaceAll(',', '\u202f');
}

export function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? '' : /(ch|s)$/.test(word) ? 'es' : 's'}`;
}

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
