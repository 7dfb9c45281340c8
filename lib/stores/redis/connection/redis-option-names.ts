/** The options of ioredis for one server; a test compares them with its types. */
export const REDIS_OPTION_NAMES: ReadonlySet<string> = new Set(
  (
    'host port path family username password db name sentinels role tls keyPrefix connectionName connectTimeout ' +
    'commandTimeout disconnectTimeout socketTimeout blockingTimeout blockingTimeoutGrace keepAlive noDelay lazyConnect ' +
    'retryStrategy reconnectOnError maxRetriesPerRequest maxLoadingRetryTime enableReadyCheck enableOfflineQueue ' +
    'enableAutoPipelining autoPipeliningIgnoredCommands autoResubscribe autoResendUnfulfilledCommands readOnly monitor ' +
    'stringNumbers protocol replyMapping disableClientInfo clientInfoTag scripts himportFieldsets showFriendlyErrorStack ' +
    'offlineQueue commandQueue natMap sentinelUsername sentinelPassword sentinelTLS enableTLSForSentinelMode ' +
    'sentinelRetryStrategy sentinelReconnectStrategy sentinelCommandTimeout sentinelMaxConnections preferredSlaves ' +
    'updateSentinels failoverDetector Connector'
  ).split(' '),
);
