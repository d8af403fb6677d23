"""Django's settings, built from `config.py`; nothing here reads the environment."""

from pathlib import Path
from typing import Any

from django.urls import reverse_lazy
from psycopg.conninfo import conninfo_to_dict
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapejobs.adapters.job_cache import PATIENCE_S
from scrapejobs.config import STANDSTILL, load_or_exit

CONFIG = load_or_exit()
BASE_DIR = Path(__file__).resolve().parent

SECRET_KEY = CONFIG.secret_key.get_secret_value()
DEBUG = False
ALLOWED_HOSTS = list(CONFIG.allowed_hosts)

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "scrapejobs.store",
    "scrapejobs.intake",
    "scrapejobs.query",
    "scrapejobs.outbox",
    "scrapejobs.scheduler",
    "scrapejobs.worker",
    "scrapejobs.ops",
]

ROOT_URLCONF = "scrapejobs.urls"
WSGI_APPLICATION = "scrapejobs.wsgi.application"
APPEND_SLASH = False


def _database() -> dict[str, Any]:
    parts: dict[str, Any] = conninfo_to_dict(CONFIG.database_url.get_secret_value())
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.pop("dbname", ""),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": parts.pop("port", ""),
        "OPTIONS": {"connect_timeout": 5, **parts, "options": f"{parts.get('options', '')} {STANDSTILL}".strip()},
        "CONN_MAX_AGE": None,
        # store.connection looks at the socket instead, which costs no round trip
        "CONN_HEALTH_CHECKS": False,
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": CONFIG.redis_url.get_secret_value(),
        "OPTIONS": {
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            "IGNORE_EXCEPTIONS": True,
            "SOCKET_CONNECT_TIMEOUT": PATIENCE_S,
            "SOCKET_TIMEOUT": PATIENCE_S,
            "CONNECTION_POOL_KWARGS": {"retry": Retry(NoBackoff(), 0)},
        },
    }
}

MIDDLEWARE = [
    "scrapejobs.gateway.middleware.Envelope",
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "scrapejobs.telemetry.http.RequestMetrics",
]
PROMETHEUS_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, float("inf"))

REST_FRAMEWORK = {
    "DEFAULT_PARSER_CLASSES": ["scrapejobs.gateway.reading.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["scrapejobs.gateway.negotiation.NoRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "scrapejobs.gateway.negotiation.AlwaysJson",
    "DEFAULT_AUTHENTICATION_CLASSES": ["scrapejobs.gateway.auth.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "EXCEPTION_HANDLER": "scrapejobs.gateway.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "gateway" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

STATIC_URL = "/static/"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
LOGGING_CONFIG = None

UNFOLD = {
    "SITE_TITLE": "scrapejobs",
    "SITE_HEADER": "scrapejobs",
    "SITE_SYMBOL": "travel_explore",
    "SITE_URL": "/docs",
    "SIDEBAR": {
        "navigation": [
            {
                "title": title,
                "items": [
                    {"title": name, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist")}
                    for name, icon, model in items
                ],
            }
            for title, items in {
                "Work": [
                    ("Jobs", "work", "store_job"),
                    ("Dead letters", "unsubscribe", "store_deadletter"),
                    ("Deliveries", "outgoing_mail", "store_delivery"),
                    ("Endpoints", "webhook", "store_endpoint"),
                    ("Services", "memory", "store_service"),
                ],
                "Rules": [
                    ("Hosts", "dns", "store_host"),
                    ("Tenants", "groups", "store_tenant"),
                    ("API keys", "key", "store_apikey"),
                ],
                "People": [("Users", "person", "auth_user"), ("Groups", "group", "auth_group")],
            }.items()
        ]
    },
}
