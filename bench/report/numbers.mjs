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
