import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** Accepts requests from this machine only. In your application, check your operators' sign-in instead. */
@Injectable()
export class LocalOnlyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { ip } = context.switchToHttp().getRequest<{ ip?: string }>();
    return ip !== undefined && LOOPBACK.has(ip);
  }
}
