/** The names for `--store`. */
export function storeNames(): string[];
