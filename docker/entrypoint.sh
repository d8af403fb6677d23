#!/bin/sh
# One image, every role:     entrypoint.sh worker --slots 20
# and every command of it:   entrypoint.sh manage migrate --noinput
set -eu
if [ "${1:-}" = manage ]; then
    shift
    exec python manage.py "$@"
fi
exec python manage.py run_role "$@"
