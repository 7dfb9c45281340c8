require('@sentry/nestjs').init({ dsn: 'http://key@127.0.0.1:9/1', tracesSampleRate: 1 });
