/** As much of a PostgreSQL driver as is used here. A `Pool` of the package `pg` fits; it stays its maker's to end. */
export interface PostgresPool {
  query(statement: PostgresStatement): Promise<PostgresResult>
  connect(): Promise<PostgresClient>
  /** Connections break also while nobody uses them, and Node ends a process in which nobody listens to that. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** The same for one that somebody has just taken. */
  on(event: 'acquire', listener: (client: Pick<PostgresClient, 'on'>) => void): unknown
}

export interface PostgresClient {
  query(statement: PostgresStatement): Promise<PostgresResult>
  on(event: 'notification', listener: (notification: PostgresNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  /** That it is open shall not keep the process alive, or, with `ref`, shall do so again. */
  unref?(): void
  ref?(): void
  /** Gives it back to its pool, or, with `true`, closes it. */
  release(destroy?: boolean): void
}

export interface PostgresStatement {
  /** What has a name is parsed once for each connection. */
  readonly name?: string
  readonly text: string
  readonly values?: PostgresValue[]
  /** Milliseconds after which the connection is given up. */
  readonly query_timeout?: number
}

export type PostgresValue = string | number | boolean | null

export interface PostgresResult {
  readonly rows: unknown[]
}

export interface PostgresNotification {
  readonly payload?: string | undefined
}
