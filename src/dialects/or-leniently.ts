import type { ClientDialect } from './dialect.ts'

/** Reads by the book; what cannot be read so, as the lenient read it: who writes properly pays nothing for the others. */
export async function orLeniently<T>(dialect: ClientDialect, read: (dialect: ClientDialect) => T): Promise<T> {
  try {
    return read(dialect)
  } catch (error) {
    const lenient = await lenientOf(dialect)
    if (lenient === dialect) throw error
    return read(lenient)
  }
}

/** The same if there is nothing more to it. */
export async function lenientOf(dialect: ClientDialect): Promise<ClientDialect> {
  const reading = await dialect.lenient?.()
  return reading ? { ...dialect, ...reading } : dialect
}
