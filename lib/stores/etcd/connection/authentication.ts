import { inMs } from '../../../common/durations.js';
import type { EtcdCredentials } from './connection-options.js';
import type { Endpoint } from './endpoint.js';
import { EtcdError, status } from './etcd-failure.js';

/** How long the user's function may take to give the password, ms. */
const PASSWORD_TIMEOUT = 10_000;

/** Shows a member who this is, for a token that ends at some time. */
export class Authentication {
  private running: { readonly endpoint: Endpoint; readonly done: Promise<void> } | undefined;

  constructor(private readonly credentials: EtcdCredentials | undefined) {}

  /** Whether a request was refused that may be carried out with a new token. */
  helps(cause: Error): cause is EtcdError {
    return this.credentials !== undefined && cause instanceof EtcdError && cause.needsNewToken;
  }

  /** Ends when the member has given a new token, if one is being asked for. */
  underWay(endpoint: Endpoint): Promise<void> | undefined {
    return this.running?.endpoint === endpoint ? this.running.done : undefined;
  }

  /** Asks for a new token, once for all who need it. */
  renew(endpoint: Endpoint): Promise<void> {
    const underWay = this.underWay(endpoint);
    if (underWay !== undefined) return underWay;
    const running = {
      endpoint,
      done: this.authenticate(endpoint).finally(() => {
        if (this.running === running) this.running = undefined;
      }),
    };
    this.running = running;
    return running.done;
  }

  private async authenticate(endpoint: Endpoint): Promise<void> {
    if (this.credentials === undefined) return;
    const { username, password } = this.credentials;
    const given = typeof password === 'function' ? await inTime(password) : password;
    try {
      await endpoint.authenticate({ username, password: given });
    } catch (error) {
      // Users are set up, but not in force.
      if (!(error instanceof EtcdError && error.code === status.failedPrecondition)) throw error;
    }
  }
}

/** A function that never answers must not keep the connection away for good: it is asked again with the next one. */
async function inTime(password: () => string | Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new Error(`the password function of etcdStore gave no password within ${inMs(PASSWORD_TIMEOUT)}`),
      );
    }, PASSWORD_TIMEOUT).unref();
  });
  try {
    return await Promise.race([password(), late]);
  } finally {
    clearTimeout(timer);
  }
}
