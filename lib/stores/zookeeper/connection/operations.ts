import { ZooKeeperError } from './zookeeper-error.js';
import type { JuteReader, JuteWriter } from './jute.js';

/** One kind of request: what is written after its header, and how the answer is read. */
export interface Operation<T> {
  readonly type: number;
  /** Whether it is sent also when the process ends: nobody else can do that. */
  readonly givesBack?: true;
  write(to: JuteWriter): void;
  read(from: JuteReader): T;
}

/** What ZooKeeper tells of a node beside its data. */
export interface Stat {
  /** Of the transaction that created it. */
  readonly czxid: number;
  /** Of the one that last wrote its data. */
  readonly mzxid: number;
  /** ms since the epoch, by the server's clock. */
  readonly ctime: number;
  readonly mtime: number;
  /** How often its data was written. */
  readonly version: number;
  /** The session that it lives with, as {@link JuteReader.id} reads it; zeros if with none. */
  readonly ephemeralOwner: string;
  /** How many there are. */
  readonly children: number;
  /** Of the transaction that last created or deleted a child. */
  readonly pzxid: number;
}

/** Who may do what to a node. */
export interface Acl {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

export const NODE = { persistent: 0, ephemeral: 1, ephemeralSequential: 3 } as const;
export const EVERYTHING = 31;
export const ANY_VERSION = -1;

const TYPE = {
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren: 12,
  check: 13,
  multi: 14,
  create: 15,
  createContainer: 19,
  auth: 100,
  close: -11,
} as const;

export interface Created {
  readonly path: string;
  readonly stat: Stat;
}

/** @param mode one of {@link NODE} */
export function create(path: string, data: Uint8Array, acl: Acl, mode: number): Operation<Created> {
  return createOfType(TYPE.create, path, data, acl, mode);
}

/** A node that ZooKeeper deletes by itself some time after its last child has gone. */
export function createContainer(path: string, acl: Acl): Operation<Created> {
  return createOfType(TYPE.createContainer, path, new Uint8Array(), acl, 4);
}

function createOfType(
  type: number,
  path: string,
  data: Uint8Array,
  { permissions, scheme, id }: Acl,
  mode: number,
): Operation<Created> {
  return {
    type,
    write: (to) => {
      to.text(path).bytes(data).int(1).int(permissions).text(scheme).text(id).int(mode);
    },
    read: (from) => ({ path: from.text(), stat: readStat(from) }),
  };
}

/** @param version that it must have; left out, any */
export function remove(path: string, version = ANY_VERSION): Operation<void> {
  return {
    type: TYPE.delete,
    givesBack: true,
    write: (to) => {
      to.text(path).int(version);
    },
    read: () => undefined,
  };
}

/** @param version that it must have; left out, any */
export function setData(path: string, data: Uint8Array, version = -1): Operation<Stat> {
  return {
    type: TYPE.setData,
    write: (to) => {
      to.text(path).bytes(data).int(version);
    },
    read: readStat,
  };
}

/** Only in {@link multi}: fails unless the node has that version. */
export function check(path: string, version: number): Operation<void> {
  return {
    type: TYPE.check,
    write: (to) => {
      to.text(path).int(version);
    },
    read: () => undefined,
  };
}

export function exists(path: string): Operation<Stat> {
  return {
    type: TYPE.exists,
    write: (to) => {
      to.text(path).bool(false);
    },
    read: readStat,
  };
}

/** @param watch whether the session is told once when the data changes or the node goes */
export function getData(path: string, watch: boolean): Operation<{ data: Buffer; stat: Stat }> {
  return {
    type: TYPE.getData,
    write: (to) => {
      to.text(path).bool(watch);
    },
    read: (from) => ({ data: from.bytes(), stat: readStat(from) }),
  };
}

/** @param watch whether the session is told once when a child comes or goes */
export function getChildren(path: string, watch: boolean): Operation<{ names: string[]; stat: Stat }> {
  return {
    type: TYPE.getChildren,
    write: (to) => {
      to.text(path).bool(watch);
    },
    read: (from) => ({ names: from.list(() => from.text()), stat: readStat(from) }),
  };
}

/** What is read afterwards is no older than what was committed before. */
export function sync(path: string): Operation<void> {
  return {
    type: TYPE.sync,
    write: (to) => {
      to.text(path);
    },
    read: () => undefined,
  };
}

export const ping: Operation<void> = { type: TYPE.ping, write: () => undefined, read: () => undefined };

/** Ends the session; its ephemeral nodes go with it. */
export const endSession: Operation<void> = {
  type: TYPE.close,
  write: () => undefined,
  read: () => undefined,
};

export function authenticate(scheme: string, credentials: string): Operation<void> {
  return {
    type: TYPE.auth,
    write: (to) => {
      to.int(0).text(scheme).text(credentials);
    },
    read: () => undefined,
  };
}

/** All of them in one transaction, or none: then it fails with the error of the first that could not be done. */
export function multi(parts: readonly Operation<unknown>[]): Operation<unknown[]> {
  return {
    type: TYPE.multi,
    write: (to) => {
      for (const part of parts) part.write(header(to, part.type, false));
      header(to, -1, true);
    },
    read: (from) => {
      const results: unknown[] = [];
      let failure: ZooKeeperError | undefined;
      for (let type = from.int(); !from.bool(); type = from.int()) {
        from.int();
        const part = parts[results.length];
        if (type !== -1) results.push(part?.read(from));
        else {
          const code = from.int();
          // Those before it are reported as 0, those after it as "not tried".
          if (code !== 0 && code !== NOT_TRIED) failure ??= new ZooKeeperError(code, results.length);
          results.push(undefined);
        }
      }
      if (failure !== undefined) throw failure;
      return results;
    },
  };
}

const NOT_TRIED = -2;

function header(to: JuteWriter, type: number, isLast: boolean): JuteWriter {
  return to.int(type).bool(isLast).int(-1);
}

function readStat(from: JuteReader): Stat {
  const czxid = from.long();
  const mzxid = from.long();
  const ctime = from.long();
  const mtime = from.long();
  const version = from.int();
  from.int();
  from.int();
  const ephemeralOwner = from.id();
  from.int();
  const children = from.int();
  return { czxid, mzxid, ctime, mtime, version, ephemeralOwner, children, pzxid: from.long() };
}
