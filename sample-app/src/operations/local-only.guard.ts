import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** Lets requests of this machine pass. An application of yours asks for whatever your operators sign in with. */
@Injectable()
export class LocalOnlyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { ip } = context.switchToHttp().getRequest<{ ip?: string }>();
    return ip !== undefined && LOOPBACK.has(ip);
  }
}
