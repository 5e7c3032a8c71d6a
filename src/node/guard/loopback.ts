export interface Warner {
  warn(fields: object, message: string): void
}

/** Programs that are not in production often ask their own machine. */
export function loopbackHere(): 'warn' | 'refuse' {
  return process.env.NODE_ENV === 'production' ? 'refuse' : 'warn'
}

export function warnOfLoopback(host: string, logger: Warner = { warn: (_, message) => console.warn(message) }): void {
  const message = `${host} is on this machine, which may be asked only in development (NODE_ENV is not production).`
  logger.warn({ host }, `${message} Set loopback to 'allow' or 'refuse' to say what is meant.`)
}
