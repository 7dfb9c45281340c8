/** Three significant digits, with thousands grouped. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (value === Infinity) return '∞';
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 100)
    return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
  if (size >= 10) return value.toFixed(1);
  return size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

export function spreadText({ min, max }) {
  return `${short(min)}–${short(max)}`;
}

export function times(ratio) {
  return `${short(ratio)} ×`;
}

export function percent(share) {
  return `${(share * 100).toFixed(Math.abs(share) < 0.1 ? 1 : 0)} %`;
}

/** JSON with one line for each row, candidate or store, so that a new measurement changes one line. */
export function resultsText(results) {
  return `${linesOf(results, 2)}\n`;
}

function linesOf(value, depth, indent = '') {
  if (depth === 0 || typeof value !== 'object' || value === null) return JSON.stringify(value, readable);
  const inner = `${indent}  `;
  const isArray = Array.isArray(value);
  const lines = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => {
      const text = linesOf(each, depth - 1, inner);
      return `${inner}${isArray ? '' : `${JSON.stringify(name)}: `}${text}`;
    });
  const [open, close] = isArray ? '[]' : '{}';
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

/** Limits figures to six digits, and replaces Infinity, which JSON does not have. */
function readable(_name, value) {
  if (value === Infinity || value === Number.MAX_SAFE_INTEGER) return 'unlimited';
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
