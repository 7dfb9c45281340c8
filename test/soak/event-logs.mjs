import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

/** The events of one log, in order. */
function* eventsOf(path) {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(1 << 16);
    const decoder = new StringDecoder();
    let rest = '';
    for (let size; (size = readSync(file, buffer)) > 0;) {
      const lines = (rest + decoder.write(buffer.subarray(0, size))).split('\n');
      rest = lines.pop();
      for (const line of lines) yield JSON.parse(line);
    }
    // The last line is incomplete if its process was killed.
  } finally {
    closeSync(file);
  }
}

/** The events of all logs in the order of their time, read as a stream: they need not fit into memory. */
export function* mergeLogs(paths) {
  const sources = [];
  // The earliest source is last in the list, where removing it is cheap.
  const insert = (source) => {
    let index = sources.length;
    while (index > 0 && sources[index - 1].next.t < source.next.t) index -= 1;
    sources.splice(index, 0, source);
  };
  const advance = (events) => {
    const { value, done } = events.next();
    if (!done) insert({ events, next: value });
  };
  for (const path of paths) advance(eventsOf(path));
  while (sources.length > 0) {
    const { events, next } = sources.pop();
    yield next;
    advance(events);
  }
}
