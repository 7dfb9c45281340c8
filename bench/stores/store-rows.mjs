/** Which rows are measured of stores other than Redis. Read before anything is installed. */
const ROWS = ['M1', 'M3', 'M4', 'M6'];

export const STORE_ROWS = { postgres: ROWS, etcd: ROWS, zookeeper: ROWS };
