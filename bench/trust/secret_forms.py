# SPDX-License-Identifier: Apache-2.0
"""The forms in which submissions contain secrets, each with a unique secret to search for.

The forms were written from the documentation of programs, without knowledge of the rules by which `database/` masks
secrets. The tests of these rules use other forms, so the rules cannot have been fitted to the forms below.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SEED = 4711
BASE62 = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
FORMS = r"""
run  word     app --password {}
run  word     app --password={}
run  mixed    app -password {}
run  word     app --passwd {}
run  mixed    app --db-passwd={}
run  word     app --dbpassword={}
run  mixed    app --userpassword {}
run  mixed    app --accesskey {}
run  base64   app --secretkey={}
run  mixed    app --authtoken {}
run  mixed    app --auth-token={}
run  hex      app --apikey {}
run  hex      app --api_key={}
run  token    app --openai-api-key {}
run  mixed    app --client_secret {}
run  mixed    app --clientSecret={}
run  word     app --passphrase {}
run  word     app --key-passphrase={}
run  jwt      app --jwt {}
run  jwt      app --id-token={}
run  jwt      app {}
run  mixed    app --bearer {}
run  mixed    app --credential={}
run  mixed    app --credentials "alice:{}"
run  base64   app --private-key={}
run  base64   app --shared_access_key {}
run  base64   app --encryption-key {}
run  hex      app --session-token={}
run  mixed    app --refresh_token {}
run  mixed    app --cookie "session={}"
run  word     app PGPASSWORD={}
run  word     app MYSQL_PWD={}
run  mixed    app SSHPASS={}
run  mixed    app PASSWORD={} out=1
run  base64   app AWS_SECRET_ACCESS_KEY={}
run  mixed    app rc.password={}
run  mixed    app db.auth.token={}
run  word     app "user=alice password={} host=db1"
run  word     app "Server=db1;User Id=alice;Password={};Encrypt=yes"
run  word     app "Driver=ODBC;UID=alice;PWD={};Port=1433"
run  base64   app "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net"
run  base64   app "Endpoint=sb://bus.example/;SharedAccessKeyName=root;SharedAccessKey={}"
run  percent  app "https://store.example/c/b?sv=2022-11-02&sr=b&sig={}&se=2030-01-01"
run  hex      app "https://bucket.example/o?X-Amz-Credential=a&X-Amz-Signature={}"
run  base64   app "https://bucket.example/o?GoogleAccessId=a&Signature={}"
run  mixed    app https://alice:{}@repo.example/data.tar
run  mixed    app https://{}@repo.example/data.git
run  mixed    app postgresql://alice:{}@db1:5432/runs
run  mixed    app mongodb+srv://alice:{}@db1/runs
run  mixed    app redis://:{}@cache:6379/0
run  mixed    app amqp://guest:{}@mq:5672/%2f
run  mixed    app --url=ftp://alice:{}@ftp.example/x
run  mixed    app "jdbc:postgresql://db1/runs?user=alice&password={}"
run  mixed    app "jdbc:oracle:thin:alice/{}@db1:1521/x"
run  mixed    app "https://api.example/v1?api_key={}"
run  mixed    app "https://api.example/v1?access_token={}&page=2"
run  hex      app "http://node12:8888/lab?token={}"
run  github   app {}
run  github   app --source={}
run  finegit  app {}
run  gitlab   app --with {}
run  akia     app {}
run  slack    app --notify {}
run  slackurl app --webhook {}
run  openai   app --model x {}
run  anthrop  app {}
run  hface    app {}
run  hface    app --hub {}
run  google   app {}
run  npm      app {}
run  pypi     app -x {}
run  docean   app {}
run  sendgrid app {}
run  stripe   app {}
run  pem      app --pem "{}"
run  base64   app {}
run  token    app --x {}
run  token    app --id={}
run  basic    app --header "Authorization: Basic {}"
run  mixed    app --header "Authorization: Bearer {}"
run  mixed    app -H "X-Api-Key: {}"
run  mixed    app -H "PRIVATE-TOKEN: {}"
run  mixed    app -H "X-Vault-Token: {}"
run  mixed    app -H "Cookie: SID={}"
run  mixed    app '{{"user": "alice", "password": "{}"}}'
run  mixed    app '{{"auths": {{"reg.example": {{"auth": "{}"}}}}}}'
run  mixed    app --config 'token: {}'
line word     curl -u alice:{} https://api.example/x
line word     curl --user alice:{} -O https://api.example/x
line word     curl -ualice:{} https://api.example/x
line mixed    curl -s -H "Authorization: token {}" https://api.example/x
line mixed    curl -d "grant_type=password&password={}" https://api.example/x
line mixed    curl -x http://proxy:3128 -U alice:{} https://api.example/x
line mixed    curl -b "session={}" https://api.example/x
line mixed    wget --password={} ftp://ftp.example/x
line mixed    wget --user=alice --http-password {} https://x.example/
line word     mysql -u alice -p{} runs
line word     mysqldump -ualice -p{} runs
line mixed    mariadb --user=alice --password={} runs
line mixed    mysqladmin -h db1 -p{} status
line word     sshpass -p {} ssh alice@host uptime
line word     sshpass -p{} rsync -a x alice@host:y
line mixed    redis-cli -h cache -a {} ping
line word     ldapsearch -x -D cn=alice -w {} -b dc=x
line word     smbclient //srv/share -U alice%{}
line word     mongodump --host db1 -u alice -p {}
line mixed    sqlcmd -S db1 -U alice -P {}
line mixed    7z x -p{} data.7z
line mixed    unzip -P {} data.zip
line mixed    openssl enc -d -aes-256-cbc -pass pass:{} -in x
line mixed    openssl enc -aes-256-cbc -k {} -in x
line mixed    gpg --batch --passphrase {} -d x.gpg
line mixed    docker login -u alice -p {} reg.example
line base64   aws configure set aws_secret_access_key {}
line hex40    wandb login {}
line hface    huggingface-cli login --token {}
line mixed    git clone https://oauth2:{}@gitlab.example/a/b.git
line mixed    git -c "http.extraHeader=Authorization: Bearer {}" clone https://x.example/a
line mixed    lftp -u alice,{} sftp.example
line mixed    sqlplus alice/{}@db1
line mixed    cqlsh db1 -u alice -p {}
line mixed    ipmitool -H bmc -U alice -P {} power status
line mixed    mosquitto_pub -h mq -u alice -P {} -t x -m y
line base64   mc alias set store https://s3.example ACCESSID {}
line mixed    htpasswd -b users alice {}
line mixed    java -Djavax.net.ssl.keyStorePassword={} -jar app.jar
line mixed    keytool -importcert -storepass {} -file x
line mixed    jupyter lab --NotebookApp.token={} --no-browser
line mixed    kubectl --token={} get pods
line mixed    az login --service-principal -u a -p {} --tenant b
line mixed    vault login {}
line mixed    openstack --os-password {} server list
line mixed    rclone copy a b --sftp-pass {}
line mixed    svn checkout --username alice --password {} https://svn.example/x
line mixed    bash -c "app --token {}"
script mixed  export API_TOKEN={}\nsrun app $API_TOKEN
script mixed  export API_TOKEN="{}"\nsrun app --x=$API_TOKEN
script mixed  DB_PASSWORD='{}'\nsrun app --connect ${{DB_PASSWORD}}
script mixed  API_TOKEN={}\nT=$API_TOKEN\nsrun app $T
script mixed  SECRET={}\nARGS="--name a --with $SECRET"\nsrun app $ARGS
script mixed  WANDB_API_KEY={}\nsrun app run-${{WANDB_API_KEY}}-x
script mixed  PGPASSWORD={}\nsrun app host:${{PGPASSWORD:0:9}}
script mixed  srun app ${{API_TOKEN:-{}}}
script mixed  : ${{API_TOKEN:={}}}\nsrun app $API_TOKEN
script mixed  declare -x HF_TOKEN={}\nsrun app "$HF_TOKEN"
script mixed  readonly dbpass={}\nsrun app "u:$dbpass"
script mixed  ARGS=(--user alice --password {})\nsrun app "${{ARGS[@]}}"
script mixed  run() {{ srun app "$1"; }}\nACCESS_TOKEN={}\nrun $ACCESS_TOKEN
script mixed  for token in {}; do srun app $token; done
script mixed  bash <<EOF\nsrun app --password {}\nEOF
script mixed  bash <<EOF\nexport MY_SECRET={}\nsrun app \\$MY_SECRET\nEOF
script mixed  eval "srun app --token {}"
script mixed  API_TOKEN={} srun app
script mixed  srun env API_TOKEN={} app
script mixed  srun --export=ALL,API_TOKEN={} app
script mixed  srun apptainer exec --env DB_PASSWORD={} image.sif app
script mixed  srun docker run -e DB_PASSWORD={} image app
script mixed  # the password is {}\nsrun app
script mixed  cat > conf <<EOF\npassword={}\nEOF\nsrun app
script mixed  echo {} | srun app --password-stdin
script mixed  export API_TOKEN={}\npython train.py --name a $API_TOKEN
script mixed  set -- --token {}\nsrun app $2
header mixed  --comment=password={}
header mixed  --job-name=token={}
header github --job-name={}
header mixed  --export=ALL,DB_PASSWORD={}
header mixed  --chdir=/work/password={}
option mixed  --export=API_TOKEN={}
option mixed  --comment="token: {}"
option github --job-name={}
option mixed  --job-name=pw_password={}
wrap word     app --password {}
wrap word     mysql -p{} runs
wrap mixed    API_TOKEN={}; app $API_TOKEN
srun mixed    app --token {}
srun mixed    curl -u alice:{} https://x.example
srun mixed    app https://alice:{}@x.example/
env  mixed    SBATCH_JOB_NAME=password={}
env  mixed    SBATCH_EXPORT=ALL,API_TOKEN={}
args mixed    --token {}
args mixed    --password={} x
"""
"""One form per line: place in the submission, shape of the secret, and text with {} in place of the secret."""


@dataclass(frozen=True)
class Form:
    """A submission that contains a secret. `parts` are pieces of the secret, and none may be stored."""

    name: str
    request: dict[str, Any]
    parts: tuple[str, ...]


def forms() -> Iterator[Form]:
    """Yield all forms, with the same secrets in every run."""
    draw = random.Random(SEED)  # noqa: S311 - not used for security
    for line in FORMS.strip().splitlines():
        place, shape, text = line.split(None, 2)
        secret, parts = _secret(shape, draw)
        written = text.format(secret).replace("\\n", "\n").replace("\\\\$", "\\$")
        yield Form(f"{place}: {text}", _request(place, written), parts)


def _secret(shape: str, draw: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw a secret of this shape; return the text of the secret, and pieces of its random part."""

    def of(characters: str, count: int) -> str:
        return "".join(draw.choices(characters, k=count))

    def mixed(count: int) -> str:
        return of(string.ascii_lowercase, 4) + of(string.digits, 2) + of(BASE62, count - 6)

    prefixed: dict[str, tuple[str, str, int]] = {
        "github": ("ghp_", BASE62, 36),
        "finegit": ("github_pat_", BASE62, 82),
        "gitlab": ("glpat-", BASE62, 20),
        "akia": ("AKIA", string.ascii_uppercase + "234567", 16),
        "slack": (f"xoxb-{of(string.digits, 12)}-{of(string.digits, 12)}-", BASE62, 24),
        "slackurl": ("https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/", BASE62, 24),
        "openai": ("sk-proj-", BASE62, 48),
        "anthrop": ("sk-ant-api03-", BASE62, 90),
        "hface": ("hf_", string.ascii_letters, 34),
        "google": ("AIza", BASE62, 35),
        "npm": ("npm_", BASE62, 36),
        "pypi": ("pypi-AgEIcHlwaS5vcmc", BASE62, 80),
        "docean": ("dop_v1_", HEX, 64),
        "sendgrid": (f"SG.{of(BASE62, 22)}.", BASE62, 43),
        "stripe": ("sk_live_", BASE62, 24),
        "hex": ("", HEX, 32),
        "hex40": ("", HEX, 40),
        "token": ("", BASE62, 32),
        "word": ("", string.ascii_lowercase, 12),
    }
    plain: dict[str, Callable[[], str]] = {
        "mixed": lambda: mixed(14),
        "base64": lambda: base64.b64encode(draw.randbytes(40)).decode(),
        "basic": lambda: base64.b64encode(f"alice:{mixed(12)}".encode()).decode(),
    }
    if shape in prefixed:
        prefix, characters, count = prefixed[shape]
        secret = of(characters, count)
        return prefix + secret, _pieces(secret)
    if shape in plain:
        secret = plain[shape]()
        return secret, _pieces(secret.rstrip("="))
    if shape == "percent":
        secret = base64.b64encode(draw.randbytes(32)).decode().rstrip("=")
        return secret.replace("+", "%2B").replace("/", "%2F") + "%3D", _pieces(secret)
    if shape == "jwt":
        parts = [base64.urlsafe_b64encode(draw.randbytes(30)).decode().rstrip("=") for _ in range(2)]
        return f"eyJhbGciOiJIUzI1NiJ9.eyJ{parts[0]}.{parts[1]}", tuple(parts)
    if shape == "pem":
        secret = base64.b64encode(draw.randbytes(45)).decode()
        return f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----", _pieces(secret)
    raise ValueError(f"no secret has the shape {shape!r}")


def _pieces(secret: str) -> tuple[str, ...]:
    """Return the whole secret, and its halves if they are long enough to be unique."""
    half = len(secret) // 2
    return (secret, secret[:half], secret[half:]) if half >= 6 else (secret,)


def _request(place: str, text: str) -> dict[str, Any]:
    """Return the submission for a decide request (docs/reference/messages.md) that contains `text`.

    `place` names the part of the submission in which the text is placed.
    """
    name, _, value = text.partition("=")
    commands = {
        "option": ["sbatch", text.replace('"', ""), "job.sh"],
        "wrap": ["sbatch", f"--wrap={text}"],
        "srun": ["srun", *text.split()],
        "args": ["sbatch", "job.sh", *text.split()],
    }
    bodies = {
        "run": f"#SBATCH --ntasks=4\nsrun {text}",
        "line": f"#SBATCH --ntasks=4\n{text}",
        "script": text,
        "header": f"#SBATCH {text}\nsrun app -n 3",
        "args": "srun app $2 $1",
    }
    argv = commands.get(place, ["sbatch", "job.sh"])
    submission: dict[str, Any] = {
        "command": argv[0],
        "argv": argv,
        "cwd": "/work/alice",
        "env": {name: value} if place == "env" else {},
        "set": [],
        "script": None,
    }
    if place not in ("wrap", "srun"):
        body = bodies.get(place, "srun app -n 3")
        submission["script"] = {"path": "/work/alice/job.sh", "text": f"#!/bin/bash\n{body}\n", "truncated": False}
    return submission
