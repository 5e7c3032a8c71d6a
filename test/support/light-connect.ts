import { createConnect, overHttp } from '../../src/client/connect.ts'
import { allClients, readOlderCard } from '../../src/dialects/client-dialects.ts'
import type { DialectInfo } from '../../src/dialects/dialect.ts'
import { loaded } from '../../src/protocol/lazy-import.ts'

const gone = () => loaded<never>('read the answer', Promise.reject(new TypeError('offline')), 'unread')

function light({ load, ...known }: DialectInfo): DialectInfo {
  return { ...known, load: async () => ({ ...(await load()), lenient: gone }) }
}

const [newest, ...older] = allClients

/** As in a page that gets no reader but those that it has at first, and those of the version that it speaks. */
export const connectLightly = createConnect({
  dialects: [light(newest), ...older.map(light)],
  readOlderCard,
  transports: overHttp,
})
