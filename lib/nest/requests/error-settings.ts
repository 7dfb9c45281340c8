import type { ExceptionFilter } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { originOf } from '../../model/error-origin.js';
import type { LockError } from '../../model/lock.errors.js';
import type { HttpSettings, RpcSettings } from './answers.js';

/** How one module instance has its errors answered. */
export interface AnswerSettings {
  readonly http: HttpSettings;
  readonly rpc: RpcSettings;
}

const LEFT_TO_NEST: AnswerSettings = { http: false, rpc: { showKeys: false } };

/** Of all module instances, by what their errors come from. */
const settingsOfOrigin = new WeakMap<object, AnswerSettings>();

/** How the lock errors of one application are answered: each by the settings of the module instance it comes from. */
export class ErrorSettings {
  private static readonly ofApplications = new WeakMap<ModulesContainer, ErrorSettings>();
  /** What answers them. */
  filter: ExceptionFilter<LockError> | undefined;
  private ofUnnamed: AnswerSettings | undefined;
  private ofFirst: AnswerSettings | undefined;

  static of(application: ModulesContainer): ErrorSettings {
    const known = ErrorSettings.ofApplications.get(application);
    const settings = known ?? new ErrorSettings();
    ErrorSettings.ofApplications.set(application, settings);
    return settings;
  }

  /** @param origins what errors of the instance come from: its service and its engine */
  add(name: string | undefined, settings: AnswerSettings, origins: readonly object[]): void {
    for (const origin of origins) settingsOfOrigin.set(origin, settings);
    this.ofFirst ??= settings;
    if (name === undefined) this.ofUnnamed = settings;
  }

  /** An error that the application has made itself, as in its tests, is one of the instance without a name. */
  for(error: LockError): AnswerSettings {
    return settingsOfItsInstance(error) ?? this.ofUnnamed ?? this.ofFirst ?? LEFT_TO_NEST;
  }
}

/** Undefined for an error that comes from no module instance. */
export function settingsOfItsInstance(error: LockError): AnswerSettings | undefined {
  const origin = originOf(error);
  return origin === undefined ? undefined : settingsOfOrigin.get(origin);
}
