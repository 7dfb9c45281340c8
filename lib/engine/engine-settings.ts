/** Where the engine writes for the operator. */
export interface EngineLog {
  log(message: string): void;
  warn(message: string): void;
}

/** What the engine needs to know of the module's options. All times are ms. */
export interface EngineSettings {
  readonly waitTime: number;
  readonly watchdogTimeout: number;
  readonly shutdownTimeout: number;
}
