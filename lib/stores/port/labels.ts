/** As it is written where blanks end words, and nothing is no word. */
export function writtenLabel(label: string | undefined): string {
  return label === undefined ? '' : encodeURIComponent(label);
}

export function readLabel(written: string | number | undefined): string | undefined {
  return written === undefined || written === '' ? undefined : decodeURIComponent(String(written));
}
