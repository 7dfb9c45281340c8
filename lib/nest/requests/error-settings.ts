import type { ExceptionFilter } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { originOf } from '../../model/error-origin.js';
import type { LockError } from '../../model/lock.errors.js';
import type { HttpSettings } from './answers.js';

/** Of all module instances, by what their errors come from. */
const httpOfOrigin = new WeakMap<object, HttpSettings>();

/** How the lock errors of one application are answered: each by the settings of the module instance it comes from. */
export class ErrorSettings {
  private static readonly ofApplications = new WeakMap<ModulesContainer, ErrorSettings>();
  /** What answers them. */
  filter: ExceptionFilter<LockError> | undefined;
  private httpOfUnnamed: HttpSettings | undefined;
  private httpOfFirst: HttpSettings | undefined;

  static of(application: ModulesContainer): ErrorSettings {
    const known = ErrorSettings.ofApplications.get(application);
    const settings = known ?? new ErrorSettings();
    ErrorSettings.ofApplications.set(application, settings);
    return settings;
  }

  /** @param origins what errors of the instance come from: its service and its engine */
  add(name: string | undefined, http: HttpSettings, origins: readonly object[]): void {
    for (const origin of origins) httpOfOrigin.set(origin, http);
    this.httpOfFirst ??= http;
    if (name === undefined) this.httpOfUnnamed = http;
  }

  /** An error that the application has made itself, as in its tests, is one of the instance without a name. */
  for(error: LockError): HttpSettings {
    return httpOfItsInstance(error) ?? this.httpOfUnnamed ?? this.httpOfFirst ?? false;
  }
}

/** What the module instance says that an error comes from, if that is known. */
export function httpOfItsInstance(error: LockError): HttpSettings | undefined {
  const origin = originOf(error);
  return origin === undefined ? undefined : httpOfOrigin.get(origin);
}
