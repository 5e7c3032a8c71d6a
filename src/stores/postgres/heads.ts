import type { Database } from '../shared/database.ts'
import type { HeadSyntax } from '../shared/heads.ts'

/** Selects heads with their status, which is stored among the events. Conditions on `task` follow. */
export function selectHeads(db: Database, columns = '', from = `${db.name('tasks')} AS task`): string {
  return `
    SELECT ${columns} task.key::float8, task.task_id, task.context_id, task.owner, task.generation, task.phase,
      task.created::float8, task.changed::float8, task.dialect, task.status_answered, status.event AS status_event
    FROM ${from}
    LEFT JOIN ${db.name('events')} AS status ON status.task = task.key AND status.generation = task.status_generation`
}

export function headSyntax(db: Database): HeadSyntax {
  return {
    select: (keys) =>
      selectHeads(db, '', keys && `(${keys}) AS page JOIN ${db.name('tasks')} AS task ON task.key = page.key`),
    key: 'key',
  }
}
