import { type TaskKey, taskForms } from 'parley-a2a/operator'
import { useLocation } from 'preact-iso/router'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { JsonBlock } from '../../components/code-block.tsx'
import { ErrorState, LoadingState, Notice } from '../../components/states.tsx'

/** The same task in the JSON of each version, with what the version cannot express. */
export function SeenAs({ task: { agent, taskId } }: { readonly task: TaskKey }) {
  const { query, path, route } = useLocation()
  const dialect = (taskForms.find(({ id }) => id === query.version) ?? taskForms[0]).id
  const { value, error, reload } = useResource(
    () => operator.seenAs({ agent, taskId }, dialect),
    [agent, taskId, dialect],
  )
  return (
    <section aria-label="The task in each version">
      <label class="choice">
        Version
        <select
          class="input input-small"
          value={dialect}
          onChange={({ currentTarget }) => route(`${path}?version=${encodeURIComponent(currentTarget.value)}`)}
        >
          {taskForms.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {value === undefined && error === undefined && <LoadingState />}
      {value === undefined && error !== undefined && <ErrorState error={error} onRetry={reload} />}
      {value && (
        <div class="seen-as">
          {value.lost.length === 0 ? (
            <Notice kind="info">This version expresses the whole task.</Notice>
          ) : (
            <Notice kind="warning">
              <p>Readers of this version do not get:</p>
              <ul>
                {value.lost.map(({ path, reason }) => (
                  <li key={path}>
                    <code class="breakable">{path}</code>: {reason}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
          <JsonBlock value={value.json} label={`The task in ${dialect}`} />
        </div>
      )}
    </section>
  )
}
