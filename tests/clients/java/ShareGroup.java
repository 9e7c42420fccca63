// One check of JavaClients that needs kafka-clients 4.1 or later: a share group (KIP-932).
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;
import java.time.Duration;
import java.util.*;

public class ShareGroup implements JavaClients.Body {
    public void run() throws Exception {
        String t = JavaClients.mk(1), g = JavaClients.name("sg");
        ConfigResource r = new ConfigResource(ConfigResource.Type.GROUP, g);
        JavaClients.get(JavaClients.admin.incrementalAlterConfigs(Map.of(r, List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all());
        JavaClients.send(t, 0, 10);
        try (var c = new KafkaShareConsumer<>(JavaClients.props("group.id", g), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            c.subscribe(List.of(t)); Set<Long> s = new TreeSet<>();
            JavaClients.until("10 shared", 30000, () -> { for (var m : c.poll(Duration.ofMillis(200))) s.add(m.offset()); return s.size() == 10; });
        }
    }
}
