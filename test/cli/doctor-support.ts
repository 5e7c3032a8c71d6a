import type { shareCli } from '../support/processes/cli.ts'
import { startRecordingPeer } from '../support/servers/recording-peer.ts'

export interface Finding {
  readonly severity: string
  readonly id: string
  readonly subject: string
  readonly problem: string
  readonly fix?: string
  readonly evidence: readonly {
    readonly request: { readonly body?: string }
    readonly response?: { readonly status: number }
  }[]
}

/** Runs `parley doctor`, and finds findings by their ids. */
export const createExaminer =
  (cli: ReturnType<typeof shareCli>) =>
  async (reference: string, ...args: readonly string[]) => {
    const { code, json, stderr, stdout } = await cli.run(['doctor', reference, '-o', 'json', ...args])
    const report = json()
    const findings: readonly Finding[] = report.findings
    return { code, report, stderr, stdout, findings, find: (id: string) => findings.find((each) => each.id === id) }
  }

export const notFound = { error: { code: -32001, message: 'Task not found' } }
const versionError = { error: { code: -32009, message: 'Version not supported' } }

/** A peer that works, apart from what a test changes. */
export const workingResult = ({ headers, body }: { headers: Record<string, unknown>; body: { method: string } }) => {
  if (headers['a2a-version'] === '99.0') return versionError
  return body.method === 'ListTasks' ? { tasks: [], nextPageToken: '', pageSize: 1, totalSize: 0 } : notFound
}

export const startPeer = ({ handle, ...options }: Parameters<typeof startRecordingPeer>[0] = {}) =>
  startRecordingPeer({
    result: workingResult,
    ...options,
    handle(request, response) {
      if (request.method !== 'OPTIONS') return handle?.(request, response) ?? false
      response.writeHead(405).end()
      return true
    },
  })
