import type { OperatorState } from '../core/base/operator-state.ts'
import type { MeshEnvelope, MeshPeer, MeshState } from './contract-tools.ts'
import { jsonAnswer, OperatorFailure } from './failures.ts'
import type { Route } from './routes.ts'

/** Envelopes that are shown. */
const maxEnvelopes = 100

/** Records that are read to show them: an envelope that failed later has two. */
const readEnvelopes = 300

/** Processes store their sessions every minute. Older ones belong to a process that has ended. In milliseconds. */
const sessionLifetime = 150_000

/** The mesh peer that a server is. */
export interface ConsoleMesh {
  /** Names this process among the replicas. */
  readonly process: string
  /** What this process has observed. Undefined until the peer is ready. */
  state(): MeshState | undefined
}

/** The route that shows a mesh peer, as all its processes have observed it. */
export function meshRoute({ process, state: readOwn }: ConsoleMesh, state: () => OperatorState): Route {
  return {
    method: 'GET',
    path: '/mesh',
    role: 'viewer',
    async handle() {
      const own = readOwn()
      if (!own) throw new OperatorFailure(503, 'not-available', 'The mesh peer is starting: try again.')
      const { records } = state()
      const [envelopes, peers] = await Promise.all([
        records.read('envelope', { limit: readEnvelopes }),
        records.read('peers', { limit: maxEnvelopes }),
      ])
      const others = peers.filter(({ list, at }) => list !== process && at > Date.now() - sessionLifetime)
      const ofProcess = <T extends object>(values: readonly T[]) => values.map((value) => ({ ...value, process }))
      return jsonAnswer({
        self: own.self,
        peers: [...ofProcess(own.peers), ...others.flatMap(({ value }) => JSON.parse(value) as readonly MeshPeer[])],
        envelopes: newestOf([
          ...envelopes.map(({ value }) => JSON.parse(value) as MeshEnvelope),
          ...ofProcess(own.envelopes).reverse(),
        ]),
      } satisfies MeshState)
    },
  }
}

/** What is known last about each envelope, newest first. Envelopes of the same moment keep their order. */
function newestOf(envelopes: readonly MeshEnvelope[]): readonly MeshEnvelope[] {
  const byKey = new Map<string, MeshEnvelope>()
  for (const envelope of envelopes) byKey.set(`${envelope.process} ${envelope.direction} ${envelope.id}`, envelope)
  return [...byKey.values()]
    .sort((one, other) => one.at - other.at)
    .reverse()
    .slice(0, maxEnvelopes)
}
