/** The end of every command's help. */
export const COMMON_HELP = `Where the locks are:
  --redis URL          a Redis server, redis://[user:password@]host[:port][/database] or rediss:// for TLS;
                       several times: a quorum of independent servers
  --cluster            the URLs are nodes of a Redis Cluster
  --sentinel NAME      the URLs are sentinels that know the primary by this name
  --key-prefix PREFIX  what the names of locks in Redis start with (default lock:)
  --config FILE        a module whose default export is what DistributedLockModule.forRoot takes, for all stores
  LOCK_REDIS_URL       in the environment: the URL, or several with blanks between them, without --redis

  --json               results as JSON on the output, errors as JSON on the error output
  -h, --help           this text`;
